/** A place to drop one file onto, and a button that chooses one. */
import { useId, useState } from "react"

interface Props {
  readonly label: string
  readonly hint: string
  readonly accept?: string
  readonly onFile: (file: File) => void
}

export const Dropzone = ({ accept, hint, label, onFile }: Props) => {
  const id = useId()
  const [over, setOver] = useState(false)
  const take = (files: FileList | null) => {
    const file = files?.[0]
    if (file !== undefined) onFile(file)
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
        id={id}
        type="file"
        accept={accept}
        onChange={(event) => {
          take(event.target.files)
          // So that the same file can be chosen once more.
          event.target.value = ""
        }}
      />
      <p className="hint">{hint}</p>
    </div>
  )
}
