import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Schedule } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as HostNames from "../../src/outbound/HostNames.ts"
import { OutboundHttp } from "../../src/outbound/OutboundHttp.ts"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { errorOf, layerBackground, nextOf, retryDelays } from "../../src/webhooks/DeliveryWorker.ts"
import { WebhookSecrets } from "../../src/webhooks/WebhookSecrets.ts"
import { databases } from "../TestDatabases.ts"
import * as TestStorage from "../TestStorage.ts"
import { attempted, hurry, read, until, worker, workspace, write } from "./TestDelivery.ts"
import * as TestReceiver from "./TestReceiver.ts"

const outcome = { status: 500, failure: "status 500", excerpt: "", durationMillis: 1 }

describe("what follows an attempt", () => {
  it("is the contract's schedule, up to a tenth later, and then nothing", () => {
    const seconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400]
    expect(retryDelays.map(Duration.toSeconds)).toEqual(seconds)
    for (const [failures, delay] of seconds.entries()) {
      expect(nextOf(outcome, failures, 0)).toEqual({ status: "pending", after: Duration.seconds(delay) })
      const latest = nextOf(outcome, failures, 1)
      expect(latest.status === "pending" && Duration.toSeconds(latest.after)).toBeCloseTo(delay * 1.1)
    }
    expect(nextOf(outcome, 7, 0)).toEqual({ status: "failed" })
    expect(nextOf({ ...outcome, status: 204, failure: undefined }, 0, 0)).toEqual({ status: "delivered" })
  })

  it("is no attempt before the time that the receiver asked for, up to a day", () => {
    const after = (retryAfter: Duration.Input, failures = 0) => {
      const next = nextOf({ ...outcome, status: 429, retryAfter: Duration.fromInputUnsafe(retryAfter) }, failures, 0)
      return next.status === "pending" ? Duration.toSeconds(next.after) : next.status
    }
    expect(after("2 minutes")).toBe(120)
    expect(after("1 second")).toBe(5)
    expect(after("30 days")).toBe(86_400)
    expect(after("2 minutes", 7)).toBe("failed")
  })

  it("is nothing after 410 Gone", () => {
    expect(nextOf({ ...outcome, status: 410 }, 0, 0)).toEqual({ status: "failed" })
  })

  it("is explained in words", () => {
    expect(errorOf({ ...outcome, status: null, failure: "no answer in time" })).toBe(
      "The receiver did not answer within 15 seconds."
    )
    expect(errorOf({ ...outcome, status: null, failure: "EPIPE" })).toBe("The request failed: EPIPE.")
    expect(errorOf({ ...outcome, status: 302 })).toBe(
      "The receiver answered with status 302. Redirects are not followed."
    )
    expect(errorOf({ ...outcome, status: 503 })).toBe("The receiver answered with status 503.")
  })
})

/** Real encryption takes real time, which the TestClock does not wait for. */
const oneSecret = Layer.succeed(
  WebhookSecrets,
  WebhookSecrets.of({
    signers: () => Effect.succeed([Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLawM")]),
    rotate: () => Effect.die("not used"),
    rewrap: Effect.succeed(0)
  })
)

it.effect("a receiver that times out gets one webhook after each pause, and all of them once it answers", () =>
  Effect.gen(function* () {
    let calls = 0
    let answers = false
    const client = HttpClient.make((request) =>
      Effect.suspend(() => {
        calls++
        return answers ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response())) : Effect.never
      })
    )
    const seconds = (count: number) =>
      Effect.forEach(
        Array.from({ length: count }),
        () => Effect.andThen(TestClock.adjust("1 second"), Effect.replicateEffect(Effect.yieldNow, 100)),
        { discard: true }
      )
    for (let n = 0; n < 20; n++) yield* write("https://slow.example/", `n${n}`)
    yield* Layer.build(layerBackground().pipe(Layer.provide([Layer.succeed(OutboundHttp, client), oneSecret])))
    yield* seconds(14)
    expect(calls).toBe(4)
    // They time out after 15 seconds, and the receiver pauses for 5.
    yield* seconds(5)
    expect(calls).toBe(4)
    yield* seconds(5)
    expect(calls).toBe(5)
    // Now for 10, from the 36th second at the latest.
    yield* seconds(19)
    expect(calls).toBe(5)
    answers = true
    yield* seconds(15)
    const statuses = yield* Effect.forEach(Array.from({ length: 20 }), (_, n) => read(`n${n}`))
    // Those that have failed wait for their next attempt.
    expect(statuses.filter(({ status }) => status === "delivered").length).toBeGreaterThanOrEqual(15)
  }).pipe(Effect.scoped, Effect.provide(TestStorage.layer))
)

describe.each(databases)("a webhook on $name", ({ layer }) => {
  it.live("is accepted by a receiver of Standard Webhooks, also while the secret is being replaced", () =>
    Effect.gen(function* () {
      const receiver = yield* TestReceiver.make(TestReceiver.status(204))
      const { id: workspaceId } = yield* workspace
      const secrets = yield* WebhookSecrets
      const first = yield* secrets.rotate(workspaceId, Duration.hours(24))
      yield* write(receiver.url, "a")
      yield* until("a", ({ status }) => status === "delivered")
      const second = yield* secrets.rotate(workspaceId, Duration.hours(24))
      const sent = yield* write(receiver.url, "b", { type: "video.failed" })
      yield* until("b", ({ status }) => status === "delivered")
      const [before, during] = receiver.received
      if (before === undefined || during === undefined) throw new Error("nothing was received")
      expect(before.headers["webhook-signature"]?.split(" ")).toHaveLength(1)
      expect(during.headers["webhook-signature"]?.split(" ")).toHaveLength(2)
      for (const { secret } of [first, second]) {
        const standard = new StandardWebhook(Redacted.value(secret))
        expect(standard.verify(during.body, during.headers)).toEqual(JSON.parse(sent.body))
      }
      expect(new StandardWebhook(Redacted.value(first.secret)).verify(before.body, before.headers)).toBeDefined()
      const unknown = new StandardWebhook(Redacted.value(second.secret))
      expect(() => unknown.verify(before.body, before.headers)).toThrow("No matching signature found")
      expect(during.headers["webhook-id"]).toBe("evt_b")
      expect(during.headers["content-type"]).toBe("application/json")
      expect(during.headers["traceparent"]).toBeUndefined()
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("counts the look-up of its host for its workspace", () => {
    const owners: Array<string> = []
    const lookUp: HostNames.LookUp = () =>
      Effect.flatMap(HostNames.Owner, (owner) => {
        owners.push(owner)
        return Effect.fail(new HostNames.NameError({ code: "EAI_AGAIN" }))
      })
    return Effect.gen(function* () {
      const { id } = yield* workspace
      yield* write("https://hooks.example/", "a")
      yield* attempted("a", 1)
      const { attempts } = yield* read("a")
      expect(attempts[0]?.error).toBe("The host name could not be resolved.")
      expect(owners).toEqual([id])
    }).pipe(
      Effect.scoped,
      Effect.provide(worker().pipe(Layer.provide(Layer.succeed(HostNames.NameServers, lookUp)))),
      Effect.provide(layer)
    )
  })

  it.live("has the same id and body on every attempt, until a 2xx", () =>
    Effect.gen(function* () {
      const { received, url } = yield* TestReceiver.make(
        TestReceiver.status(500),
        TestReceiver.reset,
        TestReceiver.status(301, { location: "http://127.0.0.1:1/elsewhere" }),
        TestReceiver.status(200)
      )
      yield* write(url, "a")
      for (const attempts of [1, 2, 3]) {
        yield* attempted("a", attempts)
        yield* hurry("a")
      }
      const delivery = yield* until("a", ({ status }) => status === "delivered")
      expect(received.map(({ body, headers, path }) => [path, headers["webhook-id"], body])).toEqual(
        received.map(() => ["/hook", "evt_a", delivery.body])
      )
      expect(delivery.attempts.map(({ error, status }) => [status, error])).toEqual([
        [500, "The receiver answered with status 500."],
        [null, "The receiver closed the connection."],
        [301, "The receiver answered with status 301. Redirects are not followed."],
        [200, null]
      ])
      expect(delivery.nextAttemptAt).toBeNull()
      expect(delivery.finishedAt).not.toBeNull()
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("is given up after the eighth failure, and delivered by a redelivery under the same id", () =>
    Effect.gen(function* () {
      const failing = Array.from({ length: 8 }, () => TestReceiver.status(503))
      const { received, url } = yield* TestReceiver.make(
        TestReceiver.status(500),
        ...failing.slice(1),
        TestReceiver.status(200)
      )
      yield* write(url, "a")
      for (let attempts = 1; attempts < 8; attempts++) {
        expect((yield* attempted("a", attempts)).status).toBe("pending")
        yield* hurry("a")
      }
      const given = yield* until("a", ({ status }) => status === "failed")
      expect(given.attempts).toHaveLength(8)
      const { organizationId } = yield* workspace
      yield* (yield* DeliveryStore).redeliver(organizationId, "evt_a")
      const delivered = yield* until("a", ({ status }) => status === "delivered")
      expect(delivered.attempts).toHaveLength(9)
      expect(new Set(received.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set(["evt_a"]))
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("is given up at once by 410 Gone", () =>
    Effect.gen(function* () {
      const { received, url } = yield* TestReceiver.make(TestReceiver.status(410))
      yield* write(url, "a")
      expect((yield* until("a", ({ status }) => status === "failed")).attempts).toHaveLength(1)
      expect(received).toHaveLength(1)
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("is delivered to a receiver whose body never ends, of which little is read", () =>
    Effect.gen(function* () {
      let written = 0
      const { url } = yield* TestReceiver.make((response) => {
        response.writeHead(200)
        const more = () => {
          while (!response.destroyed && written < 20_000_000) {
            written += 65_536
            if (!response.write(Buffer.alloc(65_536))) return
          }
        }
        response.on("drain", more)
        more()
      })
      yield* write(url, "a")
      yield* until("a", ({ status }) => status === "delivered")
      expect(written).toBeLessThan(20_000_000)
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("keeps a short part of the response to a failed attempt, without addresses and keys", () =>
    Effect.gen(function* () {
      const { url } = yield* TestReceiver.make((response) =>
        response.writeHead(400).end(`No handler at http://10.0.0.7/x for sk-abcdef123456\n${"x".repeat(5000)}`)
      )
      yield* write(url, "a")
      const { attempts } = yield* attempted("a", 1)
      const excerpt = attempts[0]?.excerpt ?? ""
      expect(excerpt).toMatch(/^No handler at <redacted> for <redacted> /)
      expect(excerpt.length).toBeLessThanOrEqual(200)
    }).pipe(Effect.scoped, Effect.provide(worker()), Effect.provide(layer))
  )

  it.live("to a receiver that hangs delays no webhook to another host, and no other workspace", () =>
    Effect.gen(function* () {
      const slow = yield* TestReceiver.make(TestReceiver.hang)
      const { port, received } = yield* TestReceiver.make(TestReceiver.status(200))
      const { organizationId } = yield* workspace
      const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "Other", slug: "other" })
      for (let n = 0; n < 20; n++) yield* write(slow.url, `slow${n}`)
      yield* write(`http://localhost:${port}/`, "host")
      yield* write(`http://127.0.0.1:${port}/`, "workspace", { workspaceId: other.id })
      yield* until("host", ({ status }) => status === "delivered")
      yield* until("workspace", ({ status }) => status === "delivered")
      expect(received).toHaveLength(2)
      yield* Effect.sync(() => slow.received.length).pipe(
        Effect.repeat({ until: (count) => count >= 2, schedule: Schedule.spaced("10 millis") })
      )
      expect(slow.received).toHaveLength(2)
      // Those in progress are not due: they are still claimed.
      expect((yield* read("slow0")).nextAttemptAt).toBeNull()
    }).pipe(
      Effect.scoped,
      Effect.provide(worker({ concurrency: 4, perWorkspace: 3, perHost: 2, stopGrace: "10 millis" })),
      Effect.provide(layer)
    )
  )

  it.live("of one workspace is sent at once while the receivers of others occupy all places", () =>
    Effect.gen(function* () {
      const slow = yield* TestReceiver.make(TestReceiver.hang)
      const { received, url } = yield* TestReceiver.make(TestReceiver.status(200))
      const { organizationId } = yield* workspace
      const store = yield* WorkspaceStore
      for (const name of ["one", "two"]) {
        const { id } = yield* store.create(organizationId, { name, slug: name })
        for (let n = 0; n < 20; n++) yield* write(slow.url, `${name}${n}`, { workspaceId: id })
      }
      yield* Effect.sync(() => slow.received.length).pipe(
        Effect.repeat({ until: (count) => count >= 4, schedule: Schedule.spaced("10 millis") })
      )
      yield* write(url, "fast")
      yield* until("fast", ({ status }) => status === "delivered")
      expect(received).toHaveLength(1)
      expect(slow.received).toHaveLength(4)
    }).pipe(
      Effect.scoped,
      Effect.provide(worker({ concurrency: 4, perWorkspace: 2, perHost: 2, stopGrace: "10 millis" })),
      Effect.provide(layer)
    )
  )

  it.live("of a worker that stops is sent by another one at once", () =>
    Effect.gen(function* () {
      const { received, url } = yield* TestReceiver.make(TestReceiver.hang, TestReceiver.status(200))
      yield* write(url, "a")
      yield* Effect.scoped(
        Effect.andThen(
          Layer.build(worker({ stopGrace: "10 millis" })),
          until("a", () => received.length === 1)
        )
      )
      yield* Layer.build(worker())
      yield* until("a", ({ status }) => status === "delivered")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.live("is sent by one of several workers", () =>
    Effect.gen(function* () {
      const { received, url } = yield* TestReceiver.make(TestReceiver.status(200))
      yield* Effect.all([Layer.build(worker()), Layer.build(worker()), Layer.build(worker())])
      for (let n = 0; n < 30; n++) yield* write(url, `n${n}`)
      for (let n = 0; n < 30; n++) yield* until(`n${n}`, ({ status }) => status === "delivered")
      expect(received).toHaveLength(30)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
