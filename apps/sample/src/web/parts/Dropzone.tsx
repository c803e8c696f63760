/** A place to drop one file onto, and a button that chooses one. */
import { useEffect, useId, useRef, useState } from "react"

interface Props {
  readonly label: string
  readonly hint: string
  readonly accept?: string
  /** The file that is chosen now, however it was chosen. */
  readonly file: File | undefined
  readonly onFile: (file: File) => void
}

export const Dropzone = ({ accept, file, hint, label, onFile }: Props) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)

  // The browser's own control names the chosen file too, also when it was dropped or recorded.
  useEffect(() => {
    const element = input.current
    if (element === null) return
    const show = () => {
      const transfer = new DataTransfer()
      if (file !== undefined) transfer.items.add(file)
      element.files = transfer.files
    }
    show()
    element.addEventListener("cancel", show)
    return () => element.removeEventListener("cancel", show)
  }, [file])

  const take = (files: FileList | null) => {
    const first = files?.[0]
    if (first !== undefined) onFile(first)
  }
  return (
    <div
      className={over ? "dropzone over" : "dropzone"}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer.files)
      }}
    >
      <label htmlFor={id}>{label}</label>
      <input
        ref={input}
        id={id}
        type="file"
        accept={accept}
        // An empty control lets the same file be chosen again, after it was edited for example.
        onClick={(event) => (event.currentTarget.value = "")}
        onChange={(event) => take(event.target.files)}
      />
      <p className="hint">{hint}</p>
    </div>
  )
}
