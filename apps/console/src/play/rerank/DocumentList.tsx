/** The documents of a long text, one below the other. Only those in view are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useRef } from "react"
import { type Document, textOf } from "./documents.ts"

export const DocumentList = ({
  documents,
  label
}: {
  readonly documents: ReadonlyArray<Document>
  readonly label: string
}) => {
  const frame = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: documents.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 28,
    overscan: 8
  })
  const items = virtual.getVirtualItems()
  const end = items.at(-1)?.end ?? 0
  return (
    <div ref={frame} className="document-list" tabIndex={0} role="group" aria-label={label}>
      <ol style={{ paddingTop: items[0]?.start ?? 0, paddingBottom: virtual.getTotalSize() - end }}>
        {items.map(({ index }) => (
          <li key={index} aria-setsize={documents.length} aria-posinset={index + 1}>
            <span className="place figures">{index + 1}</span>
            <span className="line">{textOf(documents[index] ?? "").slice(0, 300)}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
