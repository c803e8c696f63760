/** Sign-in over the page. What waited for it continues afterwards. */
import { useState } from "react"
import { useSessionState } from "../api/hooks.ts"
import { base, type Way } from "../api/http.ts"
import { cancel, signIn } from "../api/session.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { TextField } from "../parts/Fields.tsx"
import { Problem } from "../parts/Problem.tsx"

/** The ways that need nothing to be typed. */
const Ways = ({
  confirms,
  signIn
}: {
  readonly confirms: boolean
  readonly signIn: (credential: { readonly proxy: true }) => Promise<void>
}) => {
  const { session, ways } = useSessionState()
  // Who signed in elsewhere confirms there.
  const known: ReadonlyArray<Way> =
    confirms && session?.kind === "oidc"
      ? [{ kind: "oidc", name: "the same account", href: "session/openid-connect" }]
      : confirms && session?.kind === "proxy"
        ? [{ kind: "proxy", user: session.label }]
        : ways
  return known.map((way) =>
    way.kind === "oidc" ? (
      <p key={way.kind}>
        <a className="button" href={new URL(way.href, base).href}>
          Sign in with {way.name}
        </a>
      </p>
    ) : way.kind === "proxy" ? (
      <p key={way.kind}>
        <button type="button" onClick={() => void signIn({ proxy: true })}>
          Continue as {way.user}
        </button>
      </p>
    ) : null
  )
}

const SignInForm = ({ confirms }: { readonly confirms: boolean }) => {
  const { problem } = useSessionState()
  const [key, setKey] = useState("")
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const submit = async (credential: Parameters<typeof signIn>[0]) => {
    setBusy(true)
    setError(null)
    try {
      await signIn(credential)
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void submit({ key: key.trim() })
      }}
    >
      {problem !== undefined && error === null && <Problem what="You were not signed in" error={problem} />}
      <Ways confirms={confirms} signIn={submit} />
      <p>
        {confirms
          ? "The last sign-in was more than 15 minutes ago. Enter your management key to go on."
          : "Enter a management key. It is sent once to this gateway and not kept in the browser."}
      </p>
      <TextField label="Management key" name="key" type="password" value={key} onChange={setKey} required autoFocus />
      {error !== null && <Problem what="You were not signed in" error={error} />}
      {!confirms && (
        <p className="hint">
          Or run <code>model-gateway console link</code> on the server and open the address that it prints.
        </p>
      )}
      <footer>
        {confirms && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" disabled={busy || key.trim() === ""}>
          {busy ? "Signing in …" : confirms ? "Confirm" : "Sign in"}
        </button>
      </footer>
    </form>
  )
}

export const SignIn = () => {
  const { wanted } = useSessionState()
  if (wanted === undefined) return null
  const confirms = wanted === "confirm"
  return (
    <Dialog
      title={confirms ? "Confirm that it is you" : "Sign in to the console"}
      onClose={confirms ? cancel : undefined}
    >
      <SignInForm confirms={confirms} />
    </Dialog>
  )
}
