import { expect, it } from "@effect/vitest"
import { GatewayError } from "@model-gateway/core"
import { Samples } from "@model-gateway/testing"
import { Effect, Fiber, Latch } from "effect"
import { agent, model, textOf, videoModel } from "./support.ts"

const rerank = { model: "vendor/model", query: "pears", documents: ["apples", "pears"] }

const priced = { data: model("rerank", { search_unit: "0.002" }) }

it.effect("keeps dearer providers out if the session has a limit, so that the estimate holds", () =>
  Effect.gen(function* () {
    const sent: Array<unknown> = []
    const handlers = {
      getModel: priced,
      rerank: ({ payload }: { readonly payload: unknown }) => {
        sent.push(payload)
        return Samples.rerankResponse
      }
    }
    yield* (yield* agent(handlers, { maxCredits: 1 }))("rerank", rerank)
    yield* (yield* agent(handlers))("rerank", rerank)
    expect(sent).toEqual([{ ...rerank, provider: { max_price: { search_unit: 0.002 } } }, rerank])
  })
)

it.effect("charges nothing to the session for a call that the gateway refused", () =>
  Effect.gen(function* () {
    const error = new GatewayError.PaymentRequired({ error: { message: "insufficient credits" } })
    const call = yield* agent(
      { getModel: priced, rerank: error, currentKey: Samples.currentKeyResponse },
      { maxCredits: 0.002 }
    )
    const refused = yield* call("rerank", rerank)
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("insufficient credits")])
    const { structuredContent } = yield* call("usage", {})
    expect(structuredContent).toMatchObject({ session: { spent: 0, remaining: 0.002 } })
  })
)

it.effect("counts a call as spent if nobody knows whether it was charged", () =>
  Effect.gen(function* () {
    const error = new GatewayError.InternalServerError({ error: { message: "internal server error" } })
    const call = yield* agent({ getModel: priced, rerank: error }, { maxCredits: 0.003 })
    expect((yield* call("rerank", rerank)).isError).toBe(true)
    expect(textOf(yield* call("rerank", rerank))).toContain("0.002 of 0.003 credits are spent")
  })
)

it.effect("lets one call at a time exceed the limit, if its price is not known before", () =>
  Effect.gen(function* () {
    const latch = yield* Latch.make()
    const call = yield* agent(
      {
        getModel: { data: model("rerank", { prompt: "0.000001" }) },
        rerank: () => Effect.as(latch.await, { ...Samples.rerankResponse, usage: { cost: 0.05 } })
      },
      { maxCredits: 0.01 }
    )
    const first = yield* Effect.forkChild(call("rerank", rerank), { startImmediately: true })
    yield* Effect.yieldNow
    const second = yield* call("rerank", rerank)
    expect(textOf(second)).toContain("0.01 are reserved by calls and videos in progress")
    yield* latch.open
    expect((yield* Fiber.join(first)).structuredContent).toMatchObject({ cost: 0.05, estimated_cost: null })
    expect(textOf(yield* call("rerank", rerank))).toContain("0.05 of 0.01 credits are spent")
  })
)

it.effect("leaves the video of an interrupted call alone if the server itself stops", () =>
  Effect.gen(function* () {
    const cancelled: Array<string> = []
    const stopped = (keepsJobs: boolean) =>
      Effect.gen(function* () {
        const submitted = yield* Latch.make()
        const call = yield* agent(
          {
            listVideoModels: { data: [videoModel] },
            submitVideo: Samples.videoJobs.pending,
            getVideo: () => Effect.andThen(submitted.open, Effect.never),
            cancelVideo: ({ params }: { readonly params: { readonly id: string } }) => {
              cancelled.push(params.id)
              return Samples.videoJobs.cancelled
            }
          },
          { keepsJobs: () => keepsJobs }
        )
        const fiber = yield* Effect.forkChild(
          call("make_video", { model: videoModel.id, prompt: "Dawn", wait_seconds: 60 })
        )
        yield* submitted.await
        yield* Fiber.interrupt(fiber)
        yield* Effect.yieldNow
      })
    yield* stopped(true)
    expect(cancelled).toEqual([])
    yield* stopped(false)
    expect(cancelled).toEqual([Samples.videoJobs.pending.id])
  })
)

it.effect("returns the id of a video that it cannot follow any longer", () =>
  Effect.gen(function* () {
    const call = yield* agent({
      listVideoModels: { data: [videoModel] },
      submitVideo: Samples.videoJobs.pending,
      getVideo: new GatewayError.NotFound({ error: { message: "there is no such job" } })
    })
    const made = yield* call("make_video", { model: videoModel.id, prompt: "Dawn", wait_seconds: 60 })
    expect(made.isError).not.toBe(true)
    expect(made.structuredContent).toMatchObject({
      job_id: Samples.videoJobs.pending.id,
      status: "pending",
      warnings: [expect.stringContaining("there is no such job")]
    })
  })
)

it.effect("shows the usage of a session although one of its videos cannot be read", () =>
  Effect.gen(function* () {
    const call = yield* agent(
      {
        listVideoModels: { data: [videoModel] },
        submitVideo: Samples.videoJobs.pending,
        getVideo: new GatewayError.NotFound({ error: { message: "there is no such job" } }),
        currentKey: Samples.currentKeyResponse
      },
      { maxCredits: 1 }
    )
    yield* call("make_video", { model: videoModel.id, prompt: "Dawn", wait_seconds: 0 })
    const { structuredContent } = yield* call("usage", {})
    expect(structuredContent).toMatchObject({ session: { spent: 0, reserved: 0.03 } })
  })
)
