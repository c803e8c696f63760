/** Asks for a key, passes it to `onKey` and clears the field. */
import { Redacted } from "effect"
import { useState } from "react"
import { Field } from "./Field.tsx"
import { SubmitButton } from "./SubmitButton.tsx"

interface Props {
  readonly label: string
  readonly hint: string
  readonly button: string
  readonly busy: boolean
  readonly onKey: (key: Redacted.Redacted<string>) => void
}

export const SecretForm = ({ busy, button, hint, label, onKey }: Props) => {
  const [text, setText] = useState("")
  return (
    <form
      className="secret"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === "") return
        onKey(Redacted.make(text.trim()))
        setText("")
      }}
    >
      <Field label={label} hint={hint}>
        {(ids) => (
          <input
            {...ids}
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <SubmitButton className="primary" busy={busy}>
        {button}
      </SubmitButton>
    </form>
  )
}
