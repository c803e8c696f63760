import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { KeyResponses } from "../../src/access/KeyResponses.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { FreeModelDays } from "../../src/accounting/FreeModelDays.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { layer } from "../TestStorage.ts"

describe("KeyResponses", () => {
  it.effect(
    "contain every field of the specification, for a new key and for a limited one [spec D6 D7 D8 D9 D12 D13 D15 D16 D17 D18 D19 D20 D21 U3]",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2026, 10, 20))
        yield* Effect.gen(function* () {
          const keys = yield* KeyStore
          const records = yield* KeyResponses
          const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
          const plain = yield* keys.create({ organizationId, workspaceId, name: "k" })
          expect(yield* records.of(plain.key)).toEqual({
            allowed_data_regions: [],
            byok_usage: 0,
            byok_usage_daily: 0,
            byok_usage_weekly: 0,
            byok_usage_monthly: 0,
            creator_user_id: null,
            expires_at: null,
            free_model_daily_requests: { limit: 200, remaining: 200, used: 0 },
            include_byok_in_limit: false,
            is_free_tier: false,
            is_management_key: false,
            is_provisioning_key: false,
            label: plain.key.label,
            limit: null,
            limit_remaining: null,
            limit_reset: null,
            organization_id: organizationId,
            rate_limit: { requests: -1, interval: "10s", note: expect.stringContaining("deprecated") as string },
            usage: 0,
            usage_daily: 0,
            usage_weekly: 0,
            usage_monthly: 0,
            workspace_id: workspaceId
          })

          const { key } = yield* keys.create({
            organizationId,
            workspaceId,
            name: "k",
            isManagement: true,
            creatorUserId: "user_1",
            expiresAt: Date.UTC(2027, 0, 1),
            limit: MicroCredits.make(12_500_000),
            limitReset: "monthly",
            includeByokInLimit: true,
            freeDailyLimit: 3
          })
          yield* (yield* FreeModelDays).take(key.hash, 3)
          expect(yield* records.of(key)).toMatchObject({
            creator_user_id: "user_1",
            expires_at: "2027-01-01T00:00:00.000Z",
            free_model_daily_requests: { limit: 3, remaining: 2, used: 1 },
            include_byok_in_limit: true,
            is_free_tier: false,
            is_management_key: true,
            is_provisioning_key: true,
            limit: 12.5,
            limit_remaining: 12.5,
            limit_reset: "monthly"
          })

          const free = yield* keys.create({ organizationId, workspaceId, name: "k", isFreeTier: true })
          expect(yield* records.of(free.key)).toMatchObject({ is_free_tier: true, is_management_key: false })
        }).pipe(Effect.provide(layer))
      })
  )
})
