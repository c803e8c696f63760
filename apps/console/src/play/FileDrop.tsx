/** Takes a file: by a button, or dropped on it. */
import { useId, useState } from "react"
import { Icon } from "../parts/Icon.tsx"

export const FileDrop = ({
  accept,
  hint,
  label,
  onFile
}: {
  readonly label: string
  readonly accept: string
  /** Shown below the label in a field to drop a file on. Undefined: only a button. */
  readonly hint?: string
  readonly onFile: (file: File) => void
}) => {
  const id = useId()
  const [isOver, setOver] = useState(false)
  return (
    <label
      htmlFor={id}
      className={hint === undefined ? "button file-button" : "drop"}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer.files[0]
        if (file !== undefined) onFile(file)
      }}
    >
      <span>
        <Icon name="upload" /> {label}
      </span>
      {hint !== undefined && <span className="hint">{hint}</span>}
      <input
        id={id}
        className="sr"
        type="file"
        accept={accept}
        onChange={({ target }) => {
          const file = target.files?.[0]
          if (file !== undefined) onFile(file)
          // The same file may be chosen again.
          target.value = ""
        }}
      />
    </label>
  )
}
