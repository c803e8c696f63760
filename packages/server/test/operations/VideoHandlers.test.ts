import { describe, expect, it, layer } from "@effect/vitest"
import * as Generations from "@model-gateway/core/Generations"
import { Job, JobList } from "@model-gateway/core/Video"
import {
  InputTooLarge,
  invalidRequest,
  ProviderError,
  Unauthorized,
  Unavailable,
  UnknownModel
} from "@model-gateway/offers/ProviderError"
import { Clock, Context, Deferred, Duration, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { envelopeOf } from "../TestEnvelope.ts"
import * as TestGateway from "../TestGateway.ts"
import { makeUpstream, model, type Upstream } from "../video/TestVideo.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { layerClient } from "../TestStorage.ts"

/** What the gateway's provider was asked. */
class Scripted extends Context.Service<Scripted, Upstream>()("test/Scripted") {}

/**
 * A gateway whose one provider makes films, portraits from images, enlargements, and two films for
 * nothing.
 */
const gateway = Layer.unwrap(
  Effect.sync(() => {
    const upstream = makeUpstream([
      model,
      { ...model, id: "test/upscale", capabilities: { ...model.capabilities, upscale: true } },
      {
        ...model,
        id: "test/words-only",
        capabilities: { ...model.capabilities, prompt_optional: false, frame_images: false }
      },
      { ...model, id: "test/free", free: true, pricing: { unit: "second", microCredits: 0 } }
    ])
    // The tests share it: jobs that one of them left to an upstream that is down for a while must
    // open no circuit on the next.
    return TestGateway.layer({ circuits: { failures: 1000 } }, [upstream.offers]).pipe(
      Layer.provideMerge(Layer.succeed(Scripted, upstream))
    )
  })
)

const Envelope = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.Struct({
      code: Schema.Int,
      message: Schema.String,
      metadata: Schema.optionalKey(
        Schema.Struct({
          issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
        })
      )
    })
  })
)

const decodeJob = Schema.decodeUnknownEffect(Schema.fromJsonString(Job))
const decodeEnvelope = Schema.decodeUnknownEffect(Envelope)

const refused = Effect.fnUntraced(function* (status: number, answer: TestGateway.Answer) {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status })
  const envelope = yield* decodeEnvelope(answer.text)
  expect(envelope.error.code).toBe(status)
  return envelope.error
})

type Body = Record<string, unknown>

const film = (more?: Body): Body => ({ model: "test/film", prompt: "a harbor", ...more })

const post = Effect.fnUntraced(function* (
  body: Body,
  more?: { readonly key?: string; readonly headers?: Record<string, string> }
) {
  const { ask } = yield* TestGateway.TestGateway
  return yield* ask("/api/v1/videos", {
    method: "POST",
    ...(more?.key === undefined ? {} : { key: more.key }),
    headers: { "content-type": "application/json", ...more?.headers },
    body: JSON.stringify(body)
  })
})

const submit = Effect.fnUntraced(function* (
  body: Body = film(),
  more?: { readonly key?: string; readonly headers?: Record<string, string> }
) {
  const answer = yield* post(body, more)
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 })
  return yield* decodeJob(answer.text)
})

const get = Effect.fnUntraced(function* (path: string, key?: string) {
  const { ask } = yield* TestGateway.TestGateway
  const answer = yield* ask(path, key === undefined ? {} : { key })
  expect(answer.status).toBe(200)
  return yield* decodeJob(answer.text)
})

/** Follows the job by long polling until it is over. */
const follow = Effect.fnUntraced(function* (job: Job, key?: string) {
  let now = job
  while (now.status === "pending" || now.status === "in_progress") now = yield* get(`${job.polling_url}?wait=20`, key)
  return now
})

/** The number of workspaces that the tests made. */
let made = 0

/** A key in a workspace of its own with this many micro-credits. */
const newKey = Effect.fnUntraced(function* (credits: number = 1_000_000) {
  const { workspace } = yield* TestGateway.TestGateway
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).create(workspace.organizationId, {
    name: "other",
    slug: `other-${made++}`
  })
  if (credits > 0) yield* (yield* Accounting).addCredits(workspaceId, MicroCredits.make(credits))
  const { key, plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "other" })
  return { key: Redacted.value(plain), keyHash: key.hash, organizationId, workspaceId }
})

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))

/** Has the upstream answer in its own way for the length of an effect. */
const scripted = <A, E, R>(change: (upstream: Upstream) => void, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Scripted, (upstream) => {
    const { content, poll, submit } = upstream
    change(upstream)
    return Effect.ensuring(
      effect,
      Effect.sync(() => {
        Object.assign(upstream, { content, poll, submit })
      })
    )
  })

const rendering = (upstream: Upstream) => {
  upstream.poll = () => Effect.succeed({ status: "in_progress", progress: 0.5 })
}

layer(gateway, { excludeTestServices: true })("videos over HTTP", (it) => {
  it.effect("takes a job, follows it to its end, and hands out the video [spec G9 G10 G11 G12 I1 I2 N45 U1]", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const accepted = yield* submit(film({ duration: 4 }))
      expect(accepted).toMatchObject({
        status: "pending",
        model: "test/film",
        polling_url: `/api/v1/videos/${accepted.id}`
      })
      expect(accepted).not.toHaveProperty("usage")
      expect(accepted).not.toHaveProperty("generation_id")
      const done = yield* follow(accepted)
      expect(done).toMatchObject({
        status: "completed",
        usage: { cost: 0.04, is_byok: false },
        unsigned_urls: [`${accepted.polling_url}/content?index=0`]
      })
      expect(done.generation_id).toMatch(/^gen_/)
      const logged = yield* ask(`/api/v1/generation?id=${done.generation_id}`)
      const { data } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Generations.Response))(logged.text)
      expect(data).toMatchObject({
        status: "completed",
        generation_time: null,
        provider_responses: [{ provider_name: "test", is_byok: false }],
        attempts: [{ provider: "test", outcome: "Success", billed: "yes" }]
      })
      const [started = "", created] = [data.attempts[0]?.started_at, data.created_at]
      expect(Date.parse(started)).toBeGreaterThanOrEqual(Date.parse(created))
      const content = yield* ask(done.unsigned_urls?.[0] ?? "")
      expect(content).toMatchObject({ status: 200, text: "video 0" })
      expect(content.headers).toMatchObject({ "content-type": "video/mp4", "accept-ranges": "bytes" })
    })
  )

  it.effect("serves ranges of the video", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const done = yield* follow(yield* submit())
      const path = `${done.polling_url}/content`
      const part = yield* ask(path, { headers: { range: "bytes=2-4" } })
      expect(part).toMatchObject({ status: 206, text: "deo" })
      expect(part.headers["content-range"]).toBe("bytes 2-4/7")
      expect(yield* ask(path, { headers: { range: "bytes=-1" } })).toMatchObject({ status: 206, text: "0" })
      expect(yield* ask(path, { headers: { range: "bytes=70-" } })).toMatchObject({ status: 200, text: "video 0" })
      const etag = part.headers.etag ?? ""
      expect(yield* ask(path, { headers: { range: "bytes=0-1", "if-range": etag } })).toMatchObject({ status: 206 })
      for (const other of ['"another"', `W/${etag}`]) {
        const headers = { range: "bytes=0-1", "if-range": other }
        expect(yield* ask(path, { headers })).toMatchObject({ status: 200, text: "video 0" })
      }
      yield* refused(404, yield* ask(`${path}?index=1`))
      yield* refused(400, yield* ask(`${path}?index=-1`))
      yield* refused(400, yield* ask(`${path}?index=x`))
    })
  )

  it.effect("refuses what is out of bounds, naming field and bound, and charges nothing [spec N13 N38 N41 Q2]", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway.TestGateway
      const accounting = yield* Accounting
      const before = yield* accounting.balanceOf(workspace.id)
      const image = { type: "image_url", image_url: { url: "https://example.com/a.png" }, frame_type: "first_frame" }
      const cases: ReadonlyArray<readonly [path: string, body: Body]> = [
        ["model", { prompt: "x" }],
        ["prompt", { model: "test/film" }],
        ["prompt", film({ prompt: "  " })],
        [
          "prompt",
          { model: "test/words-only", input_references: [{ type: "image_url", image_url: { url: "https://x.y/z" } }] }
        ],
        ["prompt", film({ prompt: 7 })],
        ["duration", film({ duration: 0 })],
        ["duration", film({ duration: 1.5 })],
        ["duration", film({ duration: 11 })],
        ["resolution", film({ resolution: "1080p" })],
        ["resolution", film({ resolution: "240p" })],
        ["aspect_ratio", film({ aspect_ratio: "1:1" })],
        ["aspect_ratio", film({ aspect_ratio: "5:7" })],
        ["size", film({ size: "0x10" })],
        ["size", film({ size: "wide" })],
        ["size", film({ size: "1280x720", resolution: "480p" })],
        ["size", film({ size: "1280x720", aspect_ratio: "9:16" })],
        ["callback_url", film({ callback_url: "http://example.com/hook" })],
        ["callback_url", film({ callback_url: "https://exa mple.com" })],
        ["frame_images", { model: "test/words-only", prompt: "x", frame_images: [image] }],
        ["frame_images.0.frame_type", film({ frame_images: [{ ...image, frame_type: "middle" }] })],
        [
          "frame_images.0.image_url.url",
          film({ frame_images: [{ ...image, image_url: { url: "file:///etc/passwd" } }] })
        ],
        [
          "input_references.0.video_url.url",
          film({ input_references: [{ type: "video_url", video_url: { url: "x" } }] })
        ],
        ["creativity", film({ creativity: 0.5 })],
        ["upscale_factor", film({ upscale_factor: 2 })],
        ["upscale_factor", { model: "test/upscale", prompt: "x", upscale_factor: 0 }],
        ["input_references", { model: "test/upscale", prompt: "x", upscale_factor: 2 }],
        ["frame_images.1.frame_type", film({ frame_images: [image, image] })],
        ["provider.sort", film({ provider: { sort: "latency" } })],
        ["provider.sort", film({ provider: { sort: "throughput" } })],
        ["seed", film({ seed: 1.5 })],
        ["user", film({ user: "u".repeat(257) })]
      ]
      for (const [path, body] of cases) {
        const error = yield* refused(400, yield* post(body))
        expect(error.message).toMatch(/^invalid request parameters/)
        expect(
          error.metadata?.issues?.map((issue) => issue.path),
          JSON.stringify(body)
        ).toContain(path)
      }
      const broken = yield* ask("/api/v1/videos", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{"
      })
      yield* refused(400, broken)
      expect(yield* accounting.balanceOf(workspace.id)).toEqual(before)
    })
  )

  it.effect("lists everything that is beyond a model at once", () =>
    Effect.gen(function* () {
      const error = yield* refused(400, yield* post(film({ duration: 99, resolution: "4K", creativity: 1 })))
      expect(error.metadata?.issues?.map(({ path }) => path)).toEqual(["duration", "resolution", "creativity"])
      expect(error.metadata?.issues?.[0]?.message).toContain("10 seconds")
    })
  )

  it.effect("takes what is just within bounds [spec N14 N37 N39]", () =>
    Effect.gen(function* () {
      const { submitted } = yield* Scripted
      const image = { type: "image_url", image_url: { url: "https://example.com/a.png" }, frame_type: "last_frame" }
      yield* submit(film({ duration: 10, resolution: "720p", aspect_ratio: "16:9", size: "1280x720" }))
      yield* submit(film({ size: "854x480", aspect_ratio: "16:9", resolution: "480p" }))
      yield* follow(yield* submit({ model: "test/film", frame_images: [image] }))
      // Other jobs reach the provider meanwhile.
      const framed = submitted.find(({ frame_images }) => frame_images !== undefined)
      expect(framed).toMatchObject({ frame_images: [image] })
      expect(framed).not.toHaveProperty("prompt")
      const clip = { type: "video_url", video_url: { url: "https://example.com/a.mp4" } }
      const upscaled = { model: "test/upscale", input_references: [clip], creativity: 0.5, upscale_factor: 2 }
      yield* follow(yield* submit(upscaled))
      expect(submitted).toContainEqual(expect.objectContaining({ creativity: 0.5, upscale_factor: 2 }))
      yield* submit(film({ unknown: "field", provider: { options: { other: { a: 1 } } } }))
    })
  )

  it.effect("knows no model of that name, or says of which kind it is", () =>
    Effect.gen(function* () {
      const error = yield* refused(404, yield* post(film({ model: "test/none" })))
      expect(error.message).toMatch(/^resource not found.*test\/none/)
      yield* refused(404, yield* post(film({ provider: { only: ["nobody"] } })))
      yield* refused(404, yield* post(film({ provider: { max_price: { second: 0.001 } } })))
    })
  )

  it.effect("heeds the key's guardrail", () =>
    Effect.gen(function* () {
      const { key, keyHash, organizationId } = yield* newKey()
      const guardrails = yield* GuardrailStore
      const guardrail = yield* guardrails.create({ organizationId, name: "films", allowedModels: ["test/film"] })
      yield* guardrails.assign(organizationId, guardrail.id, [keyHash])
      yield* submit(film(), { key })
      yield* refused(403, yield* post(film({ model: "test/upscale" }), { key }))
      yield* guardrails.update(organizationId, guardrail.id, { allowedProviders: ["other"] })
      yield* refused(403, yield* post(film(), { key }))
    })
  )

  it.effect("refuses management keys, and requests without a key", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway.TestGateway
      yield* refused(403, yield* post(film(), { key: managementKey }))
      yield* refused(401, yield* ask("/api/v1/videos", { method: "POST", key: null, body: "{}" }))
    })
  )

  it.effect("refuses a job that cannot be paid, and one too many when all are submitted at once", () =>
    Effect.gen(function* () {
      const poor = yield* newKey(0)
      const error = yield* refused(402, yield* post(film(), { key: poor.key }))
      expect(error.message).toMatch(/^insufficient credits/)
      // A job of 1 second costs 10 000 micro-credits: enough for 5 of 12.
      const { key, workspaceId } = yield* newKey(59_999)
      const statuses = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => Effect.map(post(film({ duration: 1 }), { key }), ({ status }) => status),
        { concurrency: "unbounded" }
      )
      expect(statuses.filter((status) => status === 202).length).toBe(5)
      expect(statuses.filter((status) => status === 402).length).toBe(7)
      const balance = yield* (yield* Accounting).balanceOf(workspaceId)
      expect(balance?.available).toBe(9_999)
    })
  )

  it.effect("makes one job of the same Idempotency-Key, however often and at once", () =>
    Effect.gen(function* () {
      const { key, workspaceId } = yield* newKey()
      const headers = { "idempotency-key": "once" }
      const answers = yield* Effect.forEach(Array.from({ length: 10 }), () => post(film(), { key, headers }), {
        concurrency: "unbounded"
      })
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
      const fresh = answers.filter((answer) => answer.headers["idempotent-replayed"] === undefined)
      expect(fresh.length).toBe(1)
      expect(answers.filter((answer) => answer.headers["idempotent-replayed"] === "true").length).toBe(9)
      const again = yield* post(film(), { key, headers })
      expect(again).toMatchObject({ status: 202, text: answers[0]?.text })
      yield* refused(400, yield* post(film({ prompt: "another" }), { key, headers }))
      const done = yield* follow(yield* decodeJob(again.text), key)
      expect(done.status).toBe("completed")
      const usage = yield* TestLedger.usageOf({ workspaceId })
      const open = (yield* TestLedger.openReservations).filter((reservation) => reservation.workspaceId === workspaceId)
      expect([usage.length, open.length]).toEqual([1, 0])
      // Another key's key of the same name is another key.
      const other = yield* post(film(), { key: (yield* newKey()).key, headers })
      expect(other.text).not.toBe(answers[0]?.text)
    })
  )

  it.effect("lets a refused submission be sent again under its Idempotency-Key", () =>
    Effect.gen(function* () {
      const { key, workspaceId } = yield* newKey(0)
      const headers = { "idempotency-key": "poor at first" }
      yield* refused(402, yield* post(film(), { key, headers }))
      yield* (yield* Accounting).addCredits(workspaceId, MicroCredits.make(1_000_000))
      expect((yield* post(film(), { key, headers })).status).toBe(202)
    })
  )

  it.effect("accepts a job that its upstream then refuses or does not answer, and tells why it failed", () =>
    scripted(
      (upstream) => {
        upstream.submit = () => Effect.fail(invalidRequest("no harbors today"))
      },
      Effect.gen(function* () {
        const { key, workspaceId } = yield* newKey()
        const { ask } = yield* TestGateway.TestGateway
        const job = yield* submit(film(), { key })
        const answer = yield* ask(`${job.polling_url}?wait=10`, { key })
        let now = yield* decodeJob(answer.text)
        while (now.status !== "failed") now = yield* decodeJob((yield* ask(`${job.polling_url}?wait=10`, { key })).text)
        expect(now).toMatchObject({ status: "failed", error: "no harbors today" })
        expect(now).not.toHaveProperty("usage")
        expect(yield* (yield* Accounting).balanceOf(workspaceId)).toMatchObject({ balance: 1_000_000, reserved: 0 })
        yield* refused(404, yield* ask(`${job.polling_url}/content`, { key }))
      })
    )
  )

  it.effect("accepts a job that its upstream's own check cannot decide, and rejects one that it finds too large", () =>
    Effect.gen(function* () {
      const upstream = yield* Scripted
      const { check } = upstream
      yield* Effect.addFinalizer(() => Effect.sync(() => (upstream.check = check)))
      for (const reason of [new UnknownModel({ model: "film-1" }), new Unauthorized({}), new Unavailable({})]) {
        upstream.check = () => failing(reason)
        yield* submit()
      }
      upstream.check = () => failing(new InputTooLarge({ message: "at most 4 images" }))
      const error = yield* refused(413, yield* post(film()))
      expect(error.message).toBe("request payload too large: at most 4 images")
    }).pipe(Effect.scoped)
  )

  it.effect("never fails a submission for an upstream that is down", () =>
    scripted(
      (upstream) => {
        upstream.submit = () => failing(new Unavailable({}))
      },
      Effect.gen(function* () {
        const job = yield* submit()
        const { ask } = yield* TestGateway.TestGateway
        expect((yield* decodeJob((yield* ask(`${job.polling_url}/cancel`, { method: "POST" })).text)).status).toBe(
          "cancelled"
        )
      })
    )
  )

  it.effect("cancels a running job once, gives the money back, and leaves a final job as it was", () =>
    scripted(
      rendering,
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        const upstream = yield* Scripted
        const { key, workspaceId } = yield* newKey()
        const job = yield* submit(film(), { key })
        const cancel = Effect.flatMap(ask(`${job.polling_url}/cancel`, { method: "POST", key }), ({ text }) =>
          decodeJob(text)
        )
        let now = job
        while (now.progress === undefined) now = yield* decodeJob((yield* ask(job.polling_url, { key })).text)
        expect(now).toMatchObject({ status: "in_progress", progress: 0.5 })
        const before = upstream.cancelled.length
        expect((yield* cancel).status).toBe("cancelled")
        expect(yield* (yield* Accounting).balanceOf(workspaceId)).toMatchObject({ balance: 1_000_000, reserved: 0 })
        while (upstream.cancelled.length === before) yield* Effect.sleep("10 millis")
        expect((yield* cancel).status).toBe("cancelled")
        yield* refused(404, yield* ask(`${job.polling_url}/content`, { key }))
      })
    )
  )

  it.effect("answers a long poll as soon as the state changes, and no later than it was asked to wait", () =>
    scripted(
      rendering,
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        let job = yield* submit()
        while (job.status === "pending") job = yield* get(job.polling_url)
        const startedAt = yield* Clock.currentTimeMillis
        const waited = yield* get(`${job.polling_url}?wait=1`)
        const waitedFor = (yield* Clock.currentTimeMillis) - startedAt
        expect(waited.status).toBe("in_progress")
        expect(waitedFor).toBeGreaterThanOrEqual(990)
        expect(waitedFor).toBeLessThan(20_000)
        const polling = yield* Effect.forkChild(get(`${job.polling_url}?wait=60`))
        yield* Effect.sleep("200 millis")
        expect(polling.pollUnsafe()).toBeUndefined()
        const cancelledAt = yield* Clock.currentTimeMillis
        yield* ask(`${job.polling_url}/cancel`, { method: "POST" })
        expect((yield* Fiber.join(polling)).status).toBe("cancelled")
        expect((yield* Clock.currentTimeMillis) - cancelledAt).toBeLessThan(20_000)
        // What is over is not waited for.
        expect((yield* get(`${job.polling_url}?wait=60`)).status).toBe("cancelled")
        for (const wait of ["61", "-1", "x"]) yield* refused(400, yield* ask(`${job.polling_url}?wait=${wait}`))
      })
    )
  )

  // Its time limit tells a poll that saw the change from one that waited for its minute to end.
  it.effect(
    "sees a change that another process made",
    () =>
      scripted(
        rendering,
        Effect.gen(function* () {
          const { database } = yield* TestGateway.TestGateway
          let job = yield* submit()
          while (job.status === "pending") job = yield* get(job.polling_url)
          const polling = yield* Effect.forkChild(get(`${job.polling_url}?wait=60`))
          yield* Effect.sleep("100 millis")
          yield* Effect.flatMap(
            SqlClient,
            (sql) =>
              sql`UPDATE video_jobs SET status = 'expired', step = step + 1, completed_at = 1 WHERE id = ${job.id}`
          ).pipe(Effect.provide(layerClient(database), { local: true }))
          expect((yield* Fiber.join(polling)).status).toBe("expired")
        })
      ),
    40_000
  )

  it.effect("hides a job from other workspaces, and shows it to their management key", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway.TestGateway
      const job = yield* follow(yield* submit())
      const { key } = yield* newKey()
      for (const [method, path] of [
        ["GET", job.polling_url],
        ["GET", `${job.polling_url}/content`],
        ["POST", `${job.polling_url}/cancel`]
      ] as const) {
        const hidden = yield* refused(404, yield* ask(path, { method, key }))
        const unknown = yield* refused(404, yield* ask(path.replace(job.id, "video_none"), { method, key }))
        expect(hidden.message.replace(job.id, "video_none")).toBe(unknown.message)
      }
      expect((yield* ask(job.polling_url, { key: managementKey })).status).toBe(200)
      yield* refused(404, yield* ask("/api/v1/videos/video_none", { key: managementKey }))
    })
  )

  it.effect("lists jobs newest first, by state, in pages, and those of the key's own workspace only", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway.TestGateway
      const { key, workspaceId } = yield* newKey(100_000_000)
      const page = (query = "", asked: string = key) =>
        Effect.flatMap(ask(`/api/v1/videos?${query}`, { key: asked }), ({ text }) =>
          Schema.decodeUnknownEffect(Schema.fromJsonString(JobList))(text)
        )
      expect(yield* page()).toEqual({ data: [], has_more: false, next: null })
      const ids: Array<string> = []
      const jobs = yield* scripted(
        rendering,
        Effect.gen(function* () {
          for (let count = 0; count < 3; count++) ids.unshift((yield* submit(film(), { key })).id)
          return yield* Effect.forEach(ids, (id) => ask(`/api/v1/videos/${id}/cancel`, { method: "POST", key }))
        })
      )
      const cancelled = yield* Effect.forEach(jobs, ({ text }) => decodeJob(text))
      const idsOf = ({ data }: JobList) => data.map(({ id }) => id)

      const all = yield* page()
      expect([idsOf(all), all.has_more]).toEqual([ids, false])
      const listed = (yield* page("status=cancelled")).data
      expect(listed.map(({ finished_at: _end, workspace_id: _of, ...job }) => job)).toEqual(cancelled)
      for (const job of listed) expect([job.workspace_id, typeof job.finished_at]).toEqual([workspaceId, "string"])
      expect(idsOf(yield* page("status=expired"))).toEqual([])
      const first = yield* page("limit=2")
      expect([idsOf(first), first.has_more, first.next]).toEqual([ids.slice(0, 2), true, ids[1]])
      const rest = yield* page(`limit=2&after=${ids[1]}`)
      expect([idsOf(rest), rest.has_more]).toEqual([ids.slice(2), false])

      // The other workspace of the organization, for its management key and for an ordinary key.
      expect(idsOf(yield* page(`workspace_id=${workspaceId}`, managementKey))).toEqual(ids)
      expect(idsOf(yield* page("", managementKey))).not.toContain(ids[0])

      // Who pays is for management keys only.
      const everywhere = yield* page("workspace_id=all&limit=3", managementKey)
      expect(idsOf(everywhere)).toEqual(ids)
      const { key_hash: hash = "", key_name: name } = everywhere.data[0] ?? {}
      expect([hash, name]).toEqual([expect.stringMatching(/^[\da-f]{64}$/), "other"])
      expect(idsOf(yield* page(`workspace_id=all&key_hash=${hash}`, managementKey))).toEqual(ids)
      expect(idsOf(yield* page(`key_hash=${"0".repeat(64)}`))).toEqual([])
      expect(idsOf(yield* page("workspace_id=all"))).toEqual(ids)
      expect(idsOf(yield* page("model=other/film"))).toEqual([])
      expect(idsOf(yield* page("to=2020-01-01T00:00:00Z"))).toEqual([])
      expect(idsOf(yield* page("from=2020-01-01T00:00:00Z"))).toEqual(ids)
      const wrong = yield* refused(400, yield* ask("/api/v1/videos?from=2026-02-31T00:00:00Z&keyhash=x", { key }))
      expect(wrong.message).toContain("keyhash")
      const { ordinaryKey } = yield* TestGateway.TestGateway
      expect((yield* ask(`/api/v1/videos?workspace_id=${workspaceId}`, { key: ordinaryKey })).status).toBe(403)
      expect((yield* ask("/api/v1/videos?status=done", { key })).status).toBe(400)
    })
  )

  it.effect("pins the callback URL: the request's own, else the workspace's at that time [spec N24 Q3 Q4]", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const { key, organizationId, workspaceId } = yield* newKey()
      const urlOf = Effect.fnUntraced(function* (body: Body) {
        return (yield* jobs.get(workspaceId, (yield* submit(body, { key })).id)).callbackUrl
      })
      expect(yield* urlOf(film())).toBeNull()
      yield* (yield* WorkspaceStore).update(organizationId, workspaceId, {
        defaultCallbackUrl: "https://example.com/default"
      })
      expect(yield* urlOf(film())).toBe("https://example.com/default")
      expect(yield* urlOf(film({ callback_url: "https://example.com/own" }))).toBe("https://example.com/own")
    })
  )

  it.effect("counts a free model against the day's free requests and not against the credits", () =>
    Effect.gen(function* () {
      const { organizationId, workspaceId } = yield* newKey(0)
      const { plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "f", freeDailyLimit: 2 })
      const key = Redacted.value(plain)
      for (let n = 0; n < 2; n++) yield* follow(yield* submit(film({ model: "test/free" }), { key }), key)
      const error = yield* refused(429, yield* post(film({ model: "test/free" }), { key }))
      expect(error.message).toBe("rate limit exceeded: all 2 free model requests of this UTC day are used")
      const open = (yield* TestLedger.openReservations).filter((reservation) => reservation.workspaceId === workspaceId)
      const usage = yield* TestLedger.usageOf({ workspaceId })
      expect([open.length, usage.length]).toEqual([0, 2])
    })
  )
})

describe("videos of several providers over HTTP", () => {
  const first = makeUpstream()
  const second = makeUpstream(
    [
      {
        ...model,
        pricing: { unit: "second", microCredits: 20_000 },
        capabilities: { ...model.capabilities, default_duration: 7, generate_audio: true }
      }
    ],
    "second"
  )
  // Preferred to the second, but takes no images.
  const third = makeUpstream(
    [{ ...model, capabilities: { ...model.capabilities, prompt_optional: false, frame_images: false } }],
    "third"
  )
  first.submit = () => failing(new Unavailable({}))

  it.live("are made by the next that would take the request, as that one makes and charges them", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway.TestGateway
      const image = { type: "image_url", image_url: { url: "https://example.com/a.png" }, frame_type: "first_frame" }
      const done = yield* follow(yield* submit(film({ frame_images: [image], provider: { order: ["test", "third"] } })))
      expect(done).toMatchObject({ status: "completed", usage: { cost: 0.14 } })
      expect(second.submitted).toMatchObject([{ duration: 7, generate_audio: true, prompt: "a harbor" }])
      expect([first.submitted.length, third.submitted.length]).toEqual([1, 0])
      const usage = yield* TestLedger.usageOf({ workspaceId: workspace.id })
      expect(usage).toMatchObject([{ provider: "second", cost: 140_000, usage: { seconds: 7 } }])

      const fixed = yield* follow(yield* submit(film({ duration: 2, generate_audio: false })))
      expect(fixed).toMatchObject({ usage: { cost: 0.04 } })
      expect(second.submitted[1]).toMatchObject({ duration: 2, generate_audio: false })
    }).pipe(Effect.provide(TestGateway.layer(undefined, [first.offers, second.offers, third.offers])))
  )

  it.live("stay with the first where the caller wants no other", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const asked = first.submitted.length
      const elsewhere = second.submitted.length
      const job = yield* submit(film({ provider: { allow_fallbacks: false } }))
      while (first.submitted.length < asked + 2) yield* Effect.sleep("20 millis")
      expect(second.submitted.length).toBe(elsewhere)
      const cancelled = yield* ask(`${job.polling_url}/cancel`, { method: "POST" })
      expect((yield* decodeJob(cancelled.text)).status).toBe("cancelled")
    }).pipe(Effect.provide(TestGateway.layer(undefined, [first.offers, second.offers])))
  )
})

describe("the settings of video jobs", () => {
  it.live("say when a job that is not done expires", () => {
    const upstream = makeUpstream()
    rendering(upstream)
    return Effect.gen(function* () {
      const { workspace } = yield* TestGateway.TestGateway
      const accounting = yield* Accounting
      const before = yield* accounting.balanceOf(workspace.id)
      const over = yield* follow(yield* submit())
      expect(over.status).toBe("expired")
      expect(yield* accounting.balanceOf(workspace.id)).toEqual(before)
    }).pipe(Effect.provide(TestGateway.layer({ videos: { lifetime: Duration.seconds(2) } }, [upstream.offers])))
  })

  it.live("say how much the requests of unfinished jobs may take", () => {
    const upstream = makeUpstream()
    upstream.submit = () => Effect.never
    return Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const large = film({
        frame_images: [
          {
            type: "image_url",
            image_url: { url: `data:image/png;base64,${"A".repeat(150_000)}` },
            frame_type: "first_frame"
          }
        ]
      })
      const job = yield* submit(large)
      const refused = yield* post(large)
      expect(refused.status).toBe(429)
      const { error } = envelopeOf(refused)
      expect(error.message).toMatch(/may take 0.2 MiB together. They take 0.1 MiB, and this one needs 0.1 MiB/)
      expect(error.metadata).toMatchObject({ retry_after: 30 })
      yield* submit()
      yield* ask(`${job.polling_url}/cancel`, { method: "POST" })
      yield* submit(large)
    }).pipe(Effect.provide(TestGateway.layer({ videos: { requests: 200_000 } }, [upstream.offers])))
  })

  it.live("say how many are handled at the same time at a provider, of which a workspace gets half", () => {
    const upstream = makeUpstream()
    const { submit: take } = upstream
    let inside = 0
    let most = 0
    const two = Deferred.makeUnsafe<void>()
    upstream.submit = (submission) =>
      Effect.gen(function* () {
        inside++
        most = Math.max(most, inside)
        if (inside === 2) yield* Deferred.succeed(two, undefined)
        yield* Deferred.await(two)
        yield* Effect.sleep("50 millis")
        inside--
        return yield* take(submission)
      })
    return Effect.gen(function* () {
      const jobs = yield* Effect.forEach(Array.from({ length: 6 }), () => submit())
      for (const job of jobs) expect((yield* follow(job)).status).toBe("completed")
      expect(most).toBe(2)
    }).pipe(Effect.provide(TestGateway.layer({ videos: { concurrency: 4 } }, [upstream.offers])))
  })
})

describe("videos of the sandbox over HTTP", () => {
  it.live(
    "answer with the status that was asked for, and render a title card",
    () =>
      Effect.gen(function* () {
        const { ask, workspace } = yield* TestGateway.TestGateway
        for (const status of [400, 401, 402, 403, 404, 413, 429, 500]) {
          const error = yield* refused(status, yield* post({ model: `sandbox/status-${status}`, prompt: "x" }))
          expect(error.message).toContain("simulated")
        }
        yield* refused(404, yield* post({ model: "sandbox/status-502", prompt: "x" }))
        yield* refused(404, yield* post({ model: "sandbox/bm25", prompt: "x" }))
        const done = yield* follow(
          yield* submit({ model: "sandbox/title-card", prompt: "a harbor", duration: 1, resolution: "480p", seed: 1 })
        )
        expect(done).toMatchObject({ status: "completed", usage: { cost: 0.01 } })
        const { bytes, status } = yield* ask(done.unsigned_urls?.[0] ?? "")
        expect(status).toBe(200)
        expect(bytes.subarray(4, 8).toString()).toBe("ftyp")
        const usage = yield* TestLedger.usageOf({ workspaceId: workspace.id })
        expect(usage).toMatchObject([{ jobId: done.id, cost: 10_000, usage: { seconds: 1, videos: 1 } }])
      }).pipe(Effect.provide(TestGateway.layer())),
    60_000
  )
})
