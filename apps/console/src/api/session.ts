/** The session of the person at the page. The cookie that stands for it cannot be read here. */
import { ApiError, base, jsonOf, send, type Way } from "./http.ts"

/** What a person may do. Each role includes those before it. */
export type Role = "viewer" | "operator" | "admin"

/** Who is signed in. */
export interface Session {
  /** `key`, `link`, `oidc` or `proxy`: how the person signed in. */
  readonly kind: string
  /** Who it is: the label of a key, the name of a person. */
  readonly label: string
  readonly role: Role
  /** The workspaces that the session is restricted to. Null: all. */
  readonly workspace_ids: ReadonlyArray<string> | null
  readonly expires_at: string
  readonly idle_expires_at: string
  readonly reauthenticated_at: string
}

/** GET `/console/session`. */
type Shown =
  | { readonly session: Session }
  /** Nobody is signed in. */
  | { readonly session: null; readonly ways: ReadonlyArray<Way> }

/** Why the page asks for a key. */
export type Wanted = "signed out" | "confirm"

/** What the sign-in dialog shows. */
export interface State {
  /** Undefined: not known yet. Null: nobody was signed in. It may have ended: see `wanted`. */
  readonly session: Session | null | undefined
  /** Why the dialog is open. Undefined: it is closed. */
  readonly wanted: Wanted | undefined
  /** How one can sign in besides with a key. */
  readonly ways: ReadonlyArray<Way>
  /** Why the sign-in that the address began has failed. */
  readonly problem: Error | undefined
}

let state: State = { session: undefined, wanted: undefined, ways: [], problem: undefined }
const listeners = new Set<() => void>()

const set = (change: Partial<State>) => {
  state = { ...state, ...change }
  for (const listener of listeners) listener()
}

/** For `useSyncExternalStore`. */
export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** For `useSyncExternalStore`. */
export const snapshot = (): State => state

const address = new URL("session", base)
const headers = { "x-model-gateway-console": "1" }

let waiting:
  | { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (e: Error) => void }
  | undefined

/**
 * Opens the sign-in dialog and waits until the person has signed in: again, after a call that was
 * refused. One dialog serves all calls.
 */
export const recover = ({ status, ways }: ApiError, signal?: AbortSignal): Promise<void> => {
  waiting ??= Promise.withResolvers<void>()
  // Who waits may have been aborted. The rejection then has no other observer.
  waiting.promise.catch(() => {})
  // The page keeps what was typed, and goes on when the person is back.
  set(status === 401 ? { wanted: "signed out", ways } : { wanted: "confirm" })
  const { promise } = waiting
  if (signal === undefined) return promise
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    })
  ])
}

const signedIn = (session: Session) => {
  set({ session, wanted: undefined, problem: undefined })
  waiting?.resolve()
  waiting = undefined
}

/** Finds out whether the cookie of an earlier visit still stands for a session. */
export const resume = async (): Promise<void> => {
  try {
    const shown = await jsonOf<Shown>(await send(address, { headers }))
    if (shown.session === null) set({ session: null, wanted: "signed out", ways: shown.ways })
    else signedIn(shown.session)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // Why no session can be found, such as a gateway that does not answer.
    set({ session: null, wanted: "signed out", ways: error.ways, problem: error })
  }
}

/** Messages for the reasons for which a sign-in with OpenID Connect can fail. */
const problems: Readonly<Record<string, string>> = {
  no_role: "Your account has no role for the console. Ask who operates the gateway: its log says what is missing",
  no_workspace:
    "Your account names no workspace that the gateway has. Ask who operates the gateway: its log says what is missing",
  sign_in_expired: "The sign-in took too long, or began in another browser. Begin again",
  sign_in_failed: "The provider of identities did not confirm the sign-in. Begin again",
  unavailable: "The provider of identities does not answer as expected. The log of the gateway says why"
}

/** Signs in by what the address has after `#`, or finds the session of an earlier visit. */
export const begin = async (fragment: URLSearchParams): Promise<void> => {
  const token = fragment.get("token")
  const problem = fragment.get("problem")
  if (problem !== null) {
    set({ problem: new Error(problems[problem] ?? "The sign-in has failed. Begin again") })
  }
  if (token === null) return resume()
  try {
    await signIn({ token })
  } catch (error) {
    // An earlier session may still be valid. Otherwise the dialog says why the link failed.
    set({ problem: error instanceof Error ? error : new Error(String(error)) })
    await resume()
  }
}

/** Signs in. A key is sent once and kept nowhere. */
export const signIn = async (
  credential: { readonly key: string } | { readonly token: string } | { readonly proxy: true }
): Promise<void> =>
  signedIn(
    await jsonOf<Session>(
      await send(address, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(credential)
      })
    )
  )

/** Closes the dialog that confirms a dangerous change. The change is not made. */
export const cancel = (): void => {
  waiting?.reject(new ApiError("Nothing was changed", { status: 0, reason: "canceled" }))
  waiting = undefined
  set({ wanted: undefined })
}

/** Ends the session. What the page showed is gone. */
export const signOut = async (): Promise<void> => {
  await send(address, { method: "DELETE", headers })
  location.assign(base)
}

/** Whether a role includes another one. */
export const includes = (role: Role, other: Role): boolean => {
  const order: ReadonlyArray<Role> = ["viewer", "operator", "admin"]
  return order.indexOf(role) >= order.indexOf(other)
}
