/**
 * The documents as text. A browser lays out the text of a field again for each key and pastes a
 * long one in a third of a second, so a long text is shown as the list of its documents.
 */
import { type ClipboardEvent, useState } from "react"
import { AreaField, issueOf } from "../../parts/Fields.tsx"
import { DocumentList } from "./DocumentList.tsx"
import type { Document } from "./documents.ts"

/** The longest text that is edited as such unless the person asks for it, in characters. */
const mostEdited = 50_000

export const DocumentsField = ({
  documents,
  error,
  hint,
  onChange,
  value
}: {
  readonly value: string
  /** What was read from the text. */
  readonly documents: ReadonlyArray<Document>
  readonly hint: string
  readonly error: Error | null
  readonly onChange: (text: string) => void
}) => {
  const [asText, setAsText] = useState(false)
  const isLong = value.length > mostEdited
  if (!isLong || asText || documents.length === 0) {
    return (
      <>
        <AreaField
          label="Documents"
          name="documents"
          rows={8}
          value={value}
          error={error}
          hint={hint}
          onChange={onChange}
          onPaste={(event: ClipboardEvent<HTMLTextAreaElement>) => {
            const pasted = event.clipboardData.getData("text/plain")
            const { selectionEnd, selectionStart } = event.currentTarget
            const next = value.slice(0, selectionStart) + pasted + value.slice(selectionEnd)
            if (next.length <= mostEdited) return
            // The field never gets the text.
            event.preventDefault()
            setAsText(false)
            onChange(next)
          }}
        />
        {isLong && asText && (
          <div className="bar">
            <button type="button" className="quiet" onClick={() => setAsText(false)}>
              Show as a list
            </button>
          </div>
        )}
      </>
    )
  }
  const issue = issueOf(error, "documents")
  return (
    <div className="field">
      <span className="field-label" aria-hidden="true">
        Documents
      </span>
      <DocumentList label="Documents" documents={documents} />
      <p className={issue === undefined ? "hint" : "issue"}>{issue ?? hint}</p>
      <div className="bar">
        <button type="button" className="quiet" onClick={() => setAsText(true)}>
          Edit as text
        </button>
        <button type="button" className="quiet" onClick={() => onChange("")}>
          Clear
        </button>
      </div>
    </div>
  )
}
