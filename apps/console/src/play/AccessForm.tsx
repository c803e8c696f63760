/** Asks for a key: an ordinary one that is typed, or one that the session of the console chooses. */
import { type RefObject, useEffect, useId, useRef, useState } from "react"
import { ApiError, base } from "../api/http.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { Id } from "../parts/Copy.tsx"
import { choices, chooseKey, type Choice, enterKey, problemOf } from "./shared/access.ts"
import { useAccess } from "./shared/useModels.ts"
import { keyWanted } from "./shared/useRun.ts"

interface Trouble {
  readonly message: string
  readonly requestId: string | undefined
}

const troubleOf = (error: unknown): Trouble => ({
  message: error instanceof Error ? error.message : String(error),
  requestId: error instanceof ApiError ? error.requestId : undefined
})

const useWanted = (field: RefObject<HTMLInputElement | null>, say: (trouble: Trouble) => void) => {
  useEffect(() => {
    const wanted = () => {
      say({ message: "Enter an ordinary key to run this. It begins with mg_sk_.", requestId: undefined })
      field.current?.focus()
    }
    addEventListener(keyWanted, wanted)
    return () => removeEventListener(keyWanted, wanted)
  }, [field, say])
}

const KeyChoice = ({ onClose }: { readonly onClose: () => void }) => {
  const [search, setSearch] = useState("")
  const [keys, setKeys] = useState<ReadonlyArray<Choice>>()
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    const controller = new AbortController()
    const timer = setTimeout(
      () => {
        choices(search, controller.signal).then(
          (next) => {
            setKeys(next)
            setError(undefined)
          },
          (cause: unknown) => {
            if (!controller.signal.aborted) setError(cause)
          }
        )
      },
      search === "" ? 0 : 300
    )
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [search])
  const choose = async (key: Choice) => {
    setBusy(true)
    try {
      await chooseKey(key)
      onClose()
    } catch (cause) {
      setError(cause)
      setBusy(false)
    }
  }
  const isSignedOut = error instanceof ApiError && error.status === 401
  return (
    <Dialog title="Choose a key" onClose={onClose}>
      {isSignedOut ? (
        <>
          <p>You are not signed in to the console. Sign in there, then come back to this page.</p>
          <p>
            <a href={new URL("console/", base).href} target="_blank" rel="noreferrer">
              Open the console
            </a>
          </p>
        </>
      ) : (
        <>
          <p className="hint">The requests of this page are paid by the key that you choose.</p>
          <input
            type="search"
            aria-label="Search keys"
            placeholder="Search by name"
            value={search}
            autoFocus
            onChange={({ target }) => setSearch(target.value)}
          />
          {error !== undefined && (
            <p className="issue" role="alert">
              {troubleOf(error).message}
            </p>
          )}
          <ul className="picks">
            {keys?.map((key) => (
              <li key={key.hash}>
                <button type="button" disabled={busy} onClick={() => void choose(key)}>
                  <strong>{key.name === "" ? "Without a name" : key.name}</strong> <code>{key.label}</code>
                </button>
              </li>
            ))}
          </ul>
          {keys?.length === 0 && <p className="hint">There is no ordinary key. Create one in the console.</p>}
        </>
      )}
    </Dialog>
  )
}

export const AccessForm = () => {
  const { ended, label } = useAccess()
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const [key, setKey] = useState("")
  const [busy, setBusy] = useState(false)
  const [isChoosing, setChoosing] = useState(false)
  const [trouble, setTrouble] = useState<Trouble>()
  useWanted(field, setTrouble)
  if (label !== undefined) return null

  const submit = async () => {
    const typed = key.trim()
    const problem = problemOf(typed)
    if (problem !== undefined) {
      setTrouble({ message: problem, requestId: undefined })
      return field.current?.focus()
    }
    setBusy(true)
    setTrouble(undefined)
    try {
      await enterKey(typed)
      setKey("")
    } catch (error) {
      setTrouble(troubleOf(error))
    } finally {
      setBusy(false)
    }
  }

  const shown = trouble ?? (ended === undefined ? undefined : { message: ended, requestId: undefined })
  return (
    <form
      className="access"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy) void submit()
      }}
    >
      <label htmlFor={id}>API key</label>
      <input
        ref={field}
        id={id}
        type="password"
        value={key}
        placeholder="mg_sk_…"
        autoComplete="off"
        spellCheck={false}
        aria-invalid={shown !== undefined}
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => {
          setKey(target.value)
          setTrouble(undefined)
        }}
      />
      <button type="submit" className="primary" disabled={busy}>
        {busy ? "Signing in …" : "Use this key"}
      </button>
      <button type="button" onClick={() => setChoosing(true)}>
        Use my console session
      </button>
      <p id={`${id}-hint`} className={shown === undefined ? "hint" : "issue"} role={shown && "alert"}>
        {shown?.message ??
          "The page exchanges it for a key that ends after 15 minutes. Both stay in the memory of this page."}
        {shown?.requestId !== undefined && (
          <>
            {" "}
            Request <Id id={shown.requestId} what="the request id" full />
          </>
        )}
      </p>
      {isChoosing && <KeyChoice onClose={() => setChoosing(false)} />}
    </form>
  )
}
