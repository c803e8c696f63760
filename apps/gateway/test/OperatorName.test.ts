import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { userInfo } from "node:os"
import * as OperatorName from "../src/OperatorName.ts"

const nameless = (): never => {
  throw new Error("A system error occurred: uv_os_get_passwd returned ENOENT (no such file or directory)")
}

describe("the login name", () => {
  it.effect("is that of the operating system's user", () =>
    Effect.map(OperatorName.loginName(), (name) => expect(name).toBe(userInfo().username))
  )

  it.effect("is null for a user id without an account, and if the API would refuse it", () =>
    Effect.gen(function* () {
      expect(yield* OperatorName.loginName(nameless)).toBe(null)
      for (const username of ["", "u".repeat(257)]) {
        expect(yield* OperatorName.loginName(() => ({ username }))).toBe(null)
      }
    })
  )
})
