/** Copies a text, and says that it did. */
import { useEffect, useState } from "react"

export const CopyButton = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const [said, setSaid] = useState("")
  useEffect(() => {
    if (said === "") return
    const timer = setTimeout(() => setSaid(""), 2500)
    return () => clearTimeout(timer)
  }, [said])
  const copy = () => {
    // Without HTTPS there is no clipboard, whatever the types say.
    Promise.resolve()
      .then(() => navigator.clipboard.writeText(text))
      .then(
        () => setSaid("Copied"),
        () => setSaid("Select it and copy by hand")
      )
  }
  return (
    <span className="copy">
      <button type="button" className="small" onClick={copy} aria-label={label}>
        Copy
      </button>
      <span className="copy-said" role="status">
        {said}
      </span>
    </span>
  )
}
