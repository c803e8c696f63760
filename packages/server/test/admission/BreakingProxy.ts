/**
 * A proxy before Postgres that sees which step of a paid request a statement is, and breaks there
 * once: before the statement, or after its commit and before its answer.
 */
import { Effect } from "effect"
import * as TcpProxy from "../TcpProxy.ts"

/** A step that is one commit. */
export interface Break {
  readonly step: "claim" | "reserve" | "end"
  readonly when: "before" | "after"
}

/** All of them. */
export const breaks = (["claim", "reserve", "end"] as const).flatMap((step) =>
  (["before", "after"] as const).map((when): Break => ({ step, when }))
)

/** Whether the bytes to the server contain the step of the request with this idempotency key. */
const isStep = (bytes: string, step: Break["step"], key: string): boolean =>
  step === "claim" ? bytes.includes(key) && !bytes.includes(`"kind"`) : bytes.includes(`"kind":"${step}"`)

/** The server is ready for the next statement, outside a transaction. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/**
 * Until the scope closes. `arm` runs `act` at the next such step; all connections are closed then.
 */
export const make = Effect.fnUntraced(function* (databaseUrl: string) {
  let armed: { readonly at: Break; readonly key: string; readonly act: () => void } | undefined
  const { closeAll, url } = yield* TcpProxy.make(databaseUrl, () => {
    let isCommitting = false
    const broken = () => {
      armed?.act()
      armed = undefined
      closeAll()
      return false
    }
    return {
      toServer: (bytes) => {
        if (armed === undefined || !isStep(bytes.toString("latin1"), armed.at.step, armed.key)) return true
        if (armed.at.when === "before") return broken()
        isCommitting = true
        return true
      },
      toClient: (bytes) => (isCommitting && bytes.includes(ready) ? broken() : true)
    }
  })
  return {
    url,
    arm: (at: Break, key: string, act: () => void) => {
      armed = { at, key, act }
    }
  }
})
