import { describe, expect, it } from "@effect/vitest"
import { OutOfCredit, ProviderError, Unauthorized, Unavailable } from "@model-gateway/offers/ProviderError"
import { Effect, Layer, Redacted } from "effect"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { toWire } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { layer as layerWorker, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, money, read, untouched, workUntil, workUntilOver } from "./TestWorker.ts"

const testing = <A, E>(
  test: (upstream: Upstream) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>
) =>
  Effect.suspend(() => {
    const upstream = makeUpstream()
    return Effect.provide(test(upstream), layerWorker().pipe(Layer.provideMerge(layer(upstream.offers))))
  })

/** Stores a provider key in the payer's workspace. */
const store = Effect.fnUntraced(function* (workspaceId: string) {
  const { organizationId } = yield* (yield* WorkspaceStore).find(workspaceId)
  const keys = yield* ProviderKeys
  const { id } = yield* keys.create({ organizationId, workspaceId, provider: "test", secret: Redacted.make("own") })
  return {
    credential: `byok_${id}`,
    remove: keys.remove(organizationId, id),
    disable: keys.update(organizationId, id, { disabled: true })
  }
})

const fallbacks = [{ provider: "test", upstream_model: "test/film", credential: "gateway", cost_micro: 50_000 }]

describe("a video job with a provider key", () => {
  it.effect(
    "uses that key to its end, costs no credits and says so, even if the key is disabled meanwhile [spec G11]",
    () =>
      testing((upstream) =>
        Effect.gen(function* () {
          const by = yield* payer()
          const { credential, disable } = yield* store(by.workspaceId)
          const job = yield* submit(by, { credential })
          expect(yield* money(by.workspaceId)).toEqual(untouched)
          yield* disable
          yield* workUntilOver(job.id)
          expect(new Set(upstream.credentials)).toEqual(new Set([credential]))
          const done = yield* read(job.id)
          expect(toWire(done)).toMatchObject({ status: "completed", usage: { cost: 0.05, is_byok: true } })
          expect(yield* money(by.workspaceId)).toEqual({ ...untouched, rows: 1 })
          expect(done.attempts).toMatchObject([{ provider: "test", outcome: "Success", is_byok: true }])
        })
      )
  )

  it.effect("fails and says so if the key was deleted, and its provider is not called again", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "in_progress" })
        const by = yield* payer()
        const { credential, remove } = yield* store(by.workspaceId)
        const job = yield* submit(by, { credential })
        yield* workUntil(Effect.sync(() => upstream.polls > 0))
        expect((yield* read(job.id)).status).toBe("in_progress")
        yield* remove
        yield* workUntilOver(job.id)
        const failed = yield* read(job.id)
        expect(failed.status).toBe("failed")
        expect(failed.error).toContain("your provider key that the job was submitted with was deleted")
        expect(new Set(upstream.credentials)).toEqual(new Set([credential]))
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect(
    "goes to the gateway's credential if its provider does not take it with the key, and then costs credits",
    () =>
      testing((upstream) =>
        Effect.gen(function* () {
          const take = upstream.submit
          upstream.submit = (submission) =>
            upstream.credentials.at(-1) === "gateway"
              ? take(submission)
              : Effect.fail(new ProviderError({ reason: new Unavailable({}) }))
          const by = yield* payer()
          const { credential } = yield* store(by.workspaceId)
          const job = yield* submit(by, { credential, fallbacks })
          yield* workUntilOver(job.id)
          const done = yield* read(job.id)
          expect(toWire(done)).toMatchObject({ status: "completed", usage: { cost: 0.05, is_byok: false } })
          expect(upstream.credentials.slice(0, 2)).toEqual([credential, "gateway"])
          expect(yield* money(by.workspaceId)).toEqual(charged)
        })
      )
  )

  it.effect.each([
    [new Unauthorized(), "the provider rejected your provider key"],
    [new OutOfCredit(), "your account at the provider is out of credit"]
  ] as const)("fails and says that it is the caller's key that its provider rejects", ([reason, error]) =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.submit = () => Effect.fail(new ProviderError({ reason }))
        const by = yield* payer()
        const { credential } = yield* store(by.workspaceId)
        const job = yield* submit(by, { credential })
        yield* workUntilOver(job.id)
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error })
      })
    )
  )

  it.effect("of another workspace is not read", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const { organizationId } = yield* (yield* WorkspaceStore).find(by.workspaceId)
        const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "other", slug: "other" })
        const { credential } = yield* store(other.id)
        const job = yield* submit(by, { credential })
        yield* workUntilOver(job.id)
        expect((yield* (yield* VideoJobs).find(job.id))?.status).toBe("failed")
        expect(upstream.credentials).toEqual([])
      })
    )
  )
})
