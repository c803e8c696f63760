/** Copies a text to the clipboard and says so. */
import { useState } from "react"
import { shortId } from "./format.ts"
import { Icon } from "./Icon.tsx"

export const CopyButton = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button type="button" className="quiet copy" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} />
      <span className="sr" role="status">
        {done ? "Copied" : ""}
      </span>
    </button>
  )
}

/** An id, shortened, with a button that copies all of it. */
export const Id = ({
  full = false,
  id,
  what
}: {
  readonly id: string
  readonly what: string
  readonly full?: boolean
}) => (
  <span className="id">
    <code title={id}>{full ? id : shortId(id)}</code>
    <CopyButton text={id} label={`Copy ${what}`} />
  </span>
)
