import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { databases } from "../TestDatabases.ts"
import { micro, payerWith, reserve } from "./TestPayer.ts"

describe.each(databases)("the check for anything left to spend, on $name", ({ layer }) => {
  it.effect("fails for the budget that has nothing left", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { organizationId, payer } = yield* payerWith(1000, { limit: micro(500) })
      const { id } = yield* (yield* GuardrailStore).create({ organizationId, name: "g", limit: micro(300) })
      const scopeOf = (guardrailId: string | null) =>
        accounting.requireCredits({ ...payer, guardrailId }).pipe(
          Effect.as("passes"),
          Effect.catchTag("InsufficientCredits", ({ scope }) => Effect.succeed(scope))
        )
      expect(yield* scopeOf(id)).toBe("passes")
      yield* reserve("gen-1", { ...payer, guardrailId: id }, 300)
      expect([yield* scopeOf(id), yield* scopeOf(null)]).toEqual(["guardrail", "passes"])
      yield* reserve("gen-2", payer, 200)
      expect(yield* scopeOf(null)).toBe("key")
      const { workspaceId } = payer
      yield* (yield* KeyStore).update(organizationId, payer.keyHash, { limit: null })
      expect(yield* scopeOf(null)).toBe("passes")
      yield* accounting.addCredits(workspaceId, micro(-500))
      expect(yield* scopeOf(null)).toBe("workspace")
    }).pipe(Effect.provide(layer))
  )
})
