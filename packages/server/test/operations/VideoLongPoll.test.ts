import { expect, it } from "@effect/vitest"
import { Job } from "@model-gateway/core/Video"
import { Clock, Context, Effect, Exit, Fiber, Layer, Redacted, Schema, Scope } from "effect"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { layer, layerAt, TestGateway } from "../TestGateway.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"

const upstream = makeUpstream([model])
upstream.poll = () => Effect.succeed({ status: "in_progress", progress: 0.5 })

const decodeJob = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

const decodeKey = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ key: Schema.String })))

/** A job in progress, which does not change any more. */
const rendering = Effect.gen(function* () {
  const { ask } = yield* TestGateway
  let job = decodeJob((yield* post("/api/v1/videos", { model: model.id, prompt: "a harbor" })).text)
  while (job.status === "pending") job = decodeJob((yield* ask(job.polling_url)).text)
  return job
})

it.layer(layer({}, [upstream.offers]), { excludeTestServices: true })("a long poll", (it) => {
  // The time limit is far below the 60 seconds that the polls ask to wait.
  it.effect(
    "ends with 401 when its key is deleted, disabled or expires, and with the parent of an ephemeral key",
    () =>
      Effect.gen(function* () {
        const { ask, workspace } = yield* TestGateway
        const { id: workspaceId, organizationId } = workspace
        const keys = yield* KeyStore
        const job = yield* rendering
        const newKey = Effect.map(keys.create({ organizationId, workspaceId, name: "short" }), ({ key, plain }) => ({
          hash: key.hash,
          plain: Redacted.value(plain)
        }))
        const poll = (key: string) => Effect.forkChild(ask(`${job.polling_url}?wait=60`, { key }))

        const deleted = yield* newKey
        const disabled = yield* newKey
        const expiring = yield* newKey
        const parent = yield* newKey
        const ephemeral = decodeKey((yield* post("/api/v1/keys/ephemeral", {}, { key: parent.plain })).text)
        const polls = yield* Effect.forEach([deleted.plain, disabled.plain, expiring.plain, ephemeral.key], (key) =>
          poll(key)
        )
        yield* Effect.sleep("200 millis")
        expect(polls.map((fiber) => fiber.pollUnsafe())).toEqual([undefined, undefined, undefined, undefined])

        yield* keys.remove(organizationId, deleted.hash)
        yield* keys.update(organizationId, disabled.hash, { disabled: true })
        yield* keys.update(organizationId, expiring.hash, { expiresAt: (yield* Clock.currentTimeMillis) + 100 })
        yield* keys.update(organizationId, parent.hash, { disabled: true })
        const answers = yield* Effect.forEach(polls, (fiber) => Fiber.join(fiber))
        expect(answers.map((answer) => [answer.status, envelopeOf(answer).error.message])).toEqual([
          [401, "invalid API key"],
          [401, "invalid API key: it is disabled"],
          [401, "invalid API key: it has expired"],
          [401, "invalid API key: it is disabled"]
        ])
      }),
    15_000
  )
})

it.live("a long poll beyond those that its key may have is answered at once, and those of other keys wait", () =>
  Effect.gen(function* () {
    const { ask, workspace } = yield* TestGateway
    const job = yield* rendering
    const { plain } = yield* (yield* KeyStore).create({
      organizationId: workspace.organizationId,
      workspaceId: workspace.id,
      name: "other"
    })
    const poll = (key?: string) => Effect.forkChild(ask(`${job.polling_url}?wait=60`, key === undefined ? {} : { key }))
    const waiting = [yield* poll(), yield* poll()]
    // Whichever came last is answered.
    const answer = yield* Effect.raceAll(waiting.map((fiber) => Fiber.join(fiber)))
    expect([answer.status, decodeJob(answer.text).status]).toEqual([200, "in_progress"])
    const other = yield* poll(Redacted.value(plain))
    yield* Effect.sleep("200 millis")
    expect(other.pollUnsafe()).toBeUndefined()
    yield* ask(`${job.polling_url}/cancel`, { method: "POST" })
    const answers = yield* Effect.forEach([...waiting, other], (fiber) => Fiber.join(fiber))
    expect(answers.map(({ text }) => decodeJob(text).status).toSorted()).toEqual([
      "cancelled",
      "cancelled",
      "in_progress"
    ])
  }).pipe(Effect.provide(layer({ videos: { waitsPerKey: 1 } }, [upstream.offers])))
)

it.live(
  "a long poll is answered with the job as it is when the service stops",
  () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layerAt(yield* temporaryFolder, {}, [upstream.offers]), scope)
      const gateway = Context.get(context, TestGateway)
      const job = yield* Effect.provideService(rendering, TestGateway, gateway)
      const poll = yield* Effect.forkChild(gateway.ask(`${job.polling_url}?wait=60`))
      yield* Effect.sleep("200 millis")
      const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      const answer = yield* Fiber.join(poll)
      expect([answer.status, answer.headers["connection"]]).toEqual([200, "close"])
      expect(decodeJob(answer.text).status).toBe("in_progress")
      yield* Fiber.join(stopped)
    }).pipe(Effect.scoped),
  15_000
)
