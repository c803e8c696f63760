/** A field for one file, which can be dropped or chosen. */
import { useEffect, useId, useRef, useState } from "react"

interface Props {
  readonly label: string
  readonly hint: string
  readonly accept?: string
  /** The current file: chosen, dropped or recorded. */
  readonly file: File | undefined
  readonly onFile: (file: File) => void
}

export const Dropzone = ({ accept, file, hint, label, onFile }: Props) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)

  // The browser's file control shows the file's name, also if the file was dropped or recorded.
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
        // Clear the control, so that the same file can be chosen again, for example after an edit.
        onClick={(event) => (event.currentTarget.value = "")}
        onChange={(event) => take(event.target.files)}
      />
      <p className="hint">{hint}</p>
    </div>
  )
}
