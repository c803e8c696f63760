/** Modal dialogs on the native `<dialog>`: it keeps the focus, and Escape closes it. */
import { type ReactNode, useEffect, useId, useRef } from "react"
import { Icon } from "./Icon.tsx"

export const Dialog = ({
  children,
  kind = "center",
  onClose,
  title
}: {
  readonly title: ReactNode
  /** `side`: a panel at the right. */
  readonly kind?: "center" | "side"
  /** Undefined: it cannot be closed. */
  readonly onClose: (() => void) | undefined
  readonly children: ReactNode
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={kind === "side" ? "dialog panel" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose?.()
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={heading}>{title}</h2>
          {onClose !== undefined && (
            <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}
