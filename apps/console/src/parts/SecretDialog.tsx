/** Shows a new secret, this once. */
import type { ReactNode } from "react"
import { CopyButton } from "./Copy.tsx"
import { Dialog } from "./Dialog.tsx"

export const SecretDialog = ({
  children,
  onClose,
  secret,
  title
}: {
  readonly title: string
  readonly secret: string
  /** What it is for. */
  readonly children: ReactNode
  readonly onClose: () => void
}) => (
  // Only the button closes it: the secret cannot be shown again.
  <Dialog title={title} onClose={undefined}>
    <div className="lines">{children}</div>
    <p className="secret">
      <code>{secret}</code>
      <CopyButton text={secret} label="Copy the secret" />
    </p>
    <footer className="bar">
      <button type="button" className="primary end" onClick={onClose}>
        I have stored the secret
      </button>
    </footer>
  </Dialog>
)
