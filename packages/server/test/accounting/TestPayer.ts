/** Payers and requests for tests of accounting. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { type CreateKey, KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting, type Outcome, type Payer } from "../../src/accounting/Accounting.ts"

/** Micro-credits. */
export const micro = MicroCredits.make

/** A workspace with `credits` micro-credits and a key in it. */
export const payerWith = Effect.fnUntraced(function* (credits: number, key?: Partial<CreateKey>) {
  const workspaces = yield* WorkspaceStore
  const workspace = yield* workspaces.ensureDefault({ credits: micro(credits) })
  const { id: workspaceId, organizationId } = workspace
  const made = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k", ...key })
  return { organizationId, key: made.key, payer: { keyHash: made.key.hash, workspaceId, guardrailId: null } }
})

/** A request that was served for this many micro-credits. */
export const outcome = (cost: number, more?: Partial<Outcome>): Outcome => ({
  cost: micro(cost),
  provider: "sandbox",
  upstreamModel: "bm25",
  ...more
})

/** Reserves for a rerank. */
export const reserve = Effect.fnUntraced(function* (
  id: string,
  payer: Payer,
  amount: number,
  more?: {
    readonly isByok?: boolean
    readonly byokAmount?: MicroCredits.MicroCredits
    readonly jobId?: string
    readonly user?: string
    readonly requestId?: string
  }
) {
  const accounting = yield* Accounting
  return yield* accounting.reserve({
    id,
    payer,
    operation: "rerank",
    model: "sandbox/bm25",
    amount: micro(amount),
    ...more
  })
})
