/** Copies a text and confirms it. */
import { useEffect, useState } from "react"

export const CopyButton = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const [status, setStatus] = useState("")
  useEffect(() => {
    if (status === "") return
    const timer = setTimeout(() => setStatus(""), 2500)
    return () => clearTimeout(timer)
  }, [status])
  const copy = () => {
    // Without HTTPS `navigator.clipboard` is undefined, although its type is not.
    Promise.resolve()
      .then(() => navigator.clipboard.writeText(text))
      .then(
        () => setStatus("Copied"),
        () => setStatus("Select the text to copy it")
      )
  }
  return (
    <span className="copy">
      <button type="button" className="small" onClick={copy} aria-label={label}>
        Copy
      </button>
      <span className="copy-status" role="status">
        {status}
      </span>
    </span>
  )
}
