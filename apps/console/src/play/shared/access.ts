/**
 * The playground's key. It is an ephemeral key, which ends after 15 minutes, and is only in memory.
 * It comes from an ordinary key that a person types, or from one that they choose with the session
 * of the console.
 */
import { ApiError, base, jsonOf, send } from "../../api/http.ts"
import type { Success } from "../../api/Contract.ts"

type Ephemeral = Success<"POST /keys/ephemeral">

/** Makes an ephemeral key. */
type Mint = () => Promise<Ephemeral>

/** What the page shows about the key. */
export interface Access {
  /** The prefix and the last characters of the key that pays. Undefined: no key was chosen. */
  readonly label: string | undefined
  /** Why the last key does not work any more. */
  readonly ended: string | undefined
}

let state: Access = { label: undefined, ended: undefined }
let mint: Mint | undefined
let held: Ephemeral | undefined
let renewing: Promise<Ephemeral> | undefined
const listeners = new Set<() => void>()
const endings = new Set<() => void>()

const set = (next: Access) => {
  state = next
  for (const listener of listeners) listener()
}

/** For `useSyncExternalStore`. */
export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** For `useSyncExternalStore`. */
export const snapshot = (): Access => state

/** Is called when the person signs out: results must not stay for the next one. */
export const onSignOut = (listener: () => void): (() => void) => {
  endings.add(listener)
  return () => endings.delete(listener)
}

const start = async (next: Mint, label: string): Promise<void> => {
  const first = await next()
  mint = next
  held = first
  set({ label, ended: undefined })
}

const json = { "content-type": "application/json" }

/** The first characters of a key, which say its kind, and its last three. */
const labelOf = (key: string): string => `${key.slice(0, 6)}…${key.slice(-3)}`

/** What is wrong with a typed key, before anything is sent. */
export const problemOf = (key: string): string | undefined => {
  if (key === "") return "Enter an ordinary key. It begins with mg_sk_."
  if (key.startsWith("mg_mk_")) {
    return "This is a management key, which cannot pay for requests. Enter an ordinary key (mg_sk_…)."
  }
  return undefined
}

/**
 * Takes an ordinary key. It is sent to this gateway only, and stays in memory to renew the other.
 */
export const enterKey = (key: string): Promise<void> =>
  start(async () => {
    const headers = { ...json, authorization: `Bearer ${key}` }
    return jsonOf(await send(new URL("api/v1/keys/ephemeral", base), { method: "POST", headers, body: "{}" }))
  }, labelOf(key))

const ofConsole = { "x-model-gateway-console": "1" }

/** An ordinary key that the session of the console may choose. */
export interface Choice {
  readonly hash: string
  readonly name: string
  readonly label: string
}

/** The keys to choose from: those that can be used now. */
export const choices = async (search: string, signal: AbortSignal): Promise<ReadonlyArray<Choice>> => {
  const address = new URL("console/api/keys", base)
  if (search !== "") address.searchParams.set("search", search)
  const { data } = await jsonOf<Success<"GET /keys">>(await send(address, { headers: ofConsole, signal }))
  return data.filter(({ disabled, is_management_key }) => !disabled && !is_management_key)
}

/** Takes a key that the session of the console chose. */
export const chooseKey = ({ hash, label }: Choice): Promise<void> =>
  start(async () => {
    const address = new URL(`console/api/keys/${hash}/ephemeral`, base)
    return jsonOf(await send(address, { method: "POST", headers: { ...json, ...ofConsole }, body: "{}" }))
  }, label)

const leave = (ended: string | undefined) => {
  mint = undefined
  held = undefined
  set({ label: undefined, ended })
}

/** Forgets the key. */
export const signOut = (): void => {
  leave(undefined)
  for (const listener of endings) listener()
}

/** It is renewed this long before its end, in milliseconds. */
const margin = 30_000

const renew = async (make: Mint): Promise<Ephemeral> => {
  try {
    const next = await make()
    // It may have been forgotten meanwhile.
    if (mint === make) held = next
    return next
  } catch (error) {
    if (mint === make && error instanceof ApiError && [401, 403, 404].includes(error.status)) {
      leave(`The key does not work any more: ${error.message}.`)
    }
    throw error
  }
}

/** The key for a request. Undefined: nobody has entered one. */
export const token = async (): Promise<string | undefined> => {
  if (mint === undefined) return undefined
  if (held !== undefined && Date.parse(held.expires_at) - Date.now() > margin) return held.key
  renewing ??= renew(mint).finally(() => {
    renewing = undefined
  })
  return (await renewing).key
}

/** The gateway refused the key: the next request gets another one. */
export const refused = (key: string): void => {
  if (held?.key === key) held = undefined
}
