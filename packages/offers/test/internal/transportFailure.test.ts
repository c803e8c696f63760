import { assert, describe, it } from "@effect/vitest"
import { reasonOfTransport } from "../../src/internal/transportFailure.ts"

const withCode = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more })

/** As `fetch` reports a failure. */
const fetched = (cause: unknown) => Object.assign(new TypeError("fetch failed"), { cause })

describe("a failed transport", () => {
  it("is unavailable if no connection was made, lost if it broke, and timed out if nothing came", () => {
    const cases: ReadonlyArray<readonly [cause: unknown, reason: string]> = [
      [withCode("ECONNREFUSED"), "Unavailable"],
      [withCode("ETIMEDOUT", { syscall: "connect" }), "Unavailable"],
      [withCode("UND_ERR_CONNECT_TIMEOUT"), "Unavailable"],
      [withCode("SELF_SIGNED_CERT_IN_CHAIN"), "Unavailable"],
      [{ errors: [withCode("ECONNREFUSED")] }, "Unavailable"],
      [withCode("ECONNRESET"), "ConnectionLost"],
      [withCode("EPIPE", { syscall: "write" }), "ConnectionLost"],
      [withCode("UND_ERR_SOCKET"), "ConnectionLost"],
      [new Error("terminated"), "ConnectionLost"],
      [undefined, "ConnectionLost"],
      [withCode("ETIMEDOUT", { syscall: "read" }), "Timeout"],
      [withCode("UND_ERR_HEADERS_TIMEOUT"), "Timeout"],
      [withCode("UND_ERR_BODY_TIMEOUT"), "Timeout"],
      [withCode("HPE_INVALID_CONSTANT"), "BadResponse"]
    ]
    for (const [cause, reason] of cases) {
      for (const reported of [cause, fetched(cause)]) {
        assert.strictEqual(reasonOfTransport(reported)._tag, reason, String(cause))
      }
    }
  })
})
