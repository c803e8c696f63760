import { describe, expect, it, vi } from "@effect/vitest"
import { Webhook } from "@model-gateway/core"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { Readable } from "node:stream"

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`
const former = `whsec_${Buffer.alloc(24, 2).toString("base64")}`
const id = "evt_gen_1"

/** A second within the test's time, which starts at 0. */
const now = 1_800_000_000

const event = {
  type: "video.completed",
  timestamp: "2027-01-15T08:00:00.000Z",
  data: {
    id: "video_1",
    polling_url: "/api/v1/videos/video_1",
    status: "completed",
    unsigned_urls: ["/api/v1/videos/video_1/content?index=0"],
    usage: { cost: 0.05, is_byok: false }
  }
} as const

/** Written apart from the service's code, from the text of Standard Webhooks. */
const signatureOf = (body: string | Uint8Array, options?: { readonly key?: string; readonly timestamp?: number }) => {
  const key = Buffer.from((options?.key ?? secret).slice("whsec_".length), "base64")
  const hmac = createHmac("sha256", key)
    .update(`${id}.${options?.timestamp ?? now}.`)
    .update(body)
  return `v1,${hmac.digest("base64")}`
}

const body = JSON.stringify(event)

const headers = (signature: string = signatureOf(body), timestamp: number | string = now) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature
})

const at = (seconds: number) => TestClock.setTime(seconds * 1000)

/** The reason for which the request is rejected. */
const reasonOf = (request: Partial<Webhook.Request>) =>
  Effect.andThen(
    at(now),
    Effect.flip(Webhook.verify({ headers: headers(), body, secret, ...request })).pipe(
      Effect.map(({ _tag, reason }) => [_tag, reason])
    )
  )

describe("a webhook", () => {
  it.effect("is verified and decoded", () =>
    Effect.gen(function* () {
      yield* at(now + 3)
      const received = yield* Webhook.verify({ headers: headers(), body, secret })
      expect(received).toEqual({ id, sentAt: now * 1000, event })
    })
  )

  it.effect("has the body of each type of event", () =>
    Effect.gen(function* () {
      yield* at(now)
      for (const type of Webhook.EventType.literals) {
        const text = JSON.stringify({ ...event, type, data: { ...event.data, status: type.slice("video.".length) } })
        const received = yield* Webhook.verify({ headers: headers(signatureOf(text)), body: text, secret })
        expect(received.event.type).toBe(type)
      }
    })
  )

  it.effect("is verified from bytes, from Headers, from headers in capitals, and with a redacted secret", () =>
    Effect.gen(function* () {
      yield* at(now)
      const bytes = new TextEncoder().encode(body)
      const upper = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]))
      for (const request of [
        { headers: headers(), body: bytes, secret },
        { headers: new Headers(headers()), body, secret },
        { headers: upper, body, secret: Redacted.make(secret) }
      ]) {
        expect((yield* Webhook.verify(request)).event).toEqual(event)
      }
    })
  )

  it.effect("is verified while the secret is being replaced, by either side", () =>
    Effect.gen(function* () {
      yield* at(now)
      const both = headers(`${signatureOf(body)} ${signatureOf(body, { key: former })}`)
      expect((yield* Webhook.verify({ headers: both, body, secret: former })).id).toBe(id)
      expect((yield* Webhook.verify({ headers: both, body, secret })).id).toBe(id)
      const old = headers(signatureOf(body, { key: former }))
      expect((yield* Webhook.verify({ headers: old, body, secret: [secret, former] })).id).toBe(id)
      // Signatures of other versions are ignored.
      const later = headers(`v2,AAAA v1a,AAAA ${signatureOf(body)}`)
      expect((yield* Webhook.verify({ headers: later, body, secret })).id).toBe(id)
    })
  )

  it.effect("is rejected when anything that is signed was changed", () =>
    Effect.gen(function* () {
      for (const request of [
        { body: body.replace("video_1", "video_2") },
        { body: `${body} ` },
        { secret: former },
        { secret: [] },
        { headers: { ...headers(), "webhook-id": "evt_gen_2" } },
        { headers: headers(signatureOf(body), now + 1) },
        { headers: headers(signatureOf(body).slice(0, -8)) }
      ]) {
        expect(yield* reasonOf(request)).toEqual(["WebhookError", "signature"])
      }
    })
  )

  it.effect("is rejected when it is older than the tolerance, or from the future", () =>
    Effect.gen(function* () {
      const signed = (timestamp: number) => headers(signatureOf(body, { timestamp }), timestamp)
      for (const seconds of [-301, 301]) {
        expect(yield* reasonOf({ headers: signed(now + seconds) })).toEqual(["WebhookError", "timestamp"])
      }
      for (const seconds of [-300, 300]) {
        expect((yield* Webhook.verify({ headers: signed(now + seconds), body, secret })).id).toBe(id)
      }
      expect(yield* reasonOf({ headers: signed(now - 11), tolerance: "10 seconds" })).toEqual([
        "WebhookError",
        "timestamp"
      ])
    })
  )

  it.effect("takes one computation for each secret, however many signatures the request has", () =>
    Effect.gen(function* () {
      const { subtle } = globalThis.crypto
      const sign = vi.spyOn(subtle, "sign")
      const verify = vi.spyOn(subtle, "verify")
      yield* Effect.addFinalizer(() => Effect.sync(() => [sign, verify].forEach((spy) => spy.mockRestore())))
      const many = Array.from({ length: 1000 }, () => "v1,AAAA")
      const rejected = { headers: headers(many.join(" ")), secret: [secret, former] }
      expect(yield* reasonOf(rejected)).toEqual(["WebhookError", "signature"])
      expect([...sign.mock.calls, ...verify.mock.calls]).toHaveLength(2)
      const last = headers([...many, signatureOf(body)].join(" "))
      expect((yield* Webhook.verify({ headers: last, body, secret })).id).toBe(id)
    })
  )

  it.effect("is rejected without its headers", () =>
    Effect.gen(function* () {
      for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
        expect(yield* reasonOf({ headers: { ...headers(), [name]: undefined } })).toEqual(["WebhookError", "headers"])
      }
      for (const timestamp of ["", "soon", "-1", "1e9", "9".repeat(20)]) {
        expect(yield* reasonOf({ headers: headers(signatureOf(body), timestamp) })).toEqual(["WebhookError", "headers"])
      }
      for (const signature of ["v1", "v1,%", "v2,AAAA", signatureOf(body).slice(3)]) {
        expect(yield* reasonOf({ headers: headers(signature) })).toEqual(["WebhookError", "headers"])
      }
    })
  )

  it.effect("is decoded with a type, a status and an offset that this version does not know", () =>
    Effect.gen(function* () {
      yield* at(now)
      const later = {
        type: "video.paused",
        timestamp: "2027-01-15T09:00:00+01:00",
        data: { ...event.data, status: "paused" }
      }
      const text = JSON.stringify({ ...later, not_known: 1 })
      const received = yield* Webhook.verify({ headers: headers(signatureOf(text)), body: text, secret })
      expect(received.event).toEqual(later)
    })
  )

  it.effect("is rejected if it is no event of a job, although the signature matches", () =>
    Effect.gen(function* () {
      for (const text of ["", "{", "null", JSON.stringify({ ...event, data: { id: "video_1" } })]) {
        expect(yield* reasonOf({ body: text, headers: headers(signatureOf(text)) })).toEqual(["WebhookError", "event"])
      }
    })
  )

  it.effect("fails without quoting the secret if the secret is not valid", () =>
    Effect.gen(function* () {
      yield* at(now)
      for (const wrong of ["", "whsec_", "whsec_not base64"]) {
        const error = yield* Effect.flip(Webhook.verify({ headers: headers(), body, secret: wrong }))
        expect(error.reason).toBe("secret")
        expect(error.message).not.toContain("not base64")
      }
    })
  )
})

describe("a Request", () => {
  const request = (content: string | ReadableStream<Uint8Array> | null) =>
    new Request("https://receiver.example/hooks", {
      method: "POST",
      headers: headers(),
      body: content,
      ...(typeof content === "string" || content === null ? {} : { duplex: "half" })
    })

  it.effect("is verified", () =>
    Effect.gen(function* () {
      yield* at(now)
      expect((yield* Webhook.fromRequest(request(body), { secret })).event).toEqual(event)
      const empty = yield* Effect.flip(Webhook.fromRequest(request(null), { secret }))
      expect(empty.reason).toBe("signature")
    })
  )

  it.effect("with a body that does not end is rejected after 1 MiB", () =>
    Effect.gen(function* () {
      yield* at(now)
      let pulled = 0
      const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          pulled++
          controller.enqueue(new Uint8Array(65_536))
        }
      })
      const error = yield* Effect.flip(Webhook.fromRequest(request(endless), { secret }))
      expect(error.reason).toBe("body")
      expect(pulled).toBeLessThan(32)
    })
  )

  it.effect("of another realm is verified, although its Headers are not those of this one", () =>
    Effect.gen(function* () {
      yield* at(now)
      const sent = request(body)
      const get = (name: string) => sent.headers.get(name)
      const foreign = new Proxy(sent, {
        // A getter of `Request` throws if it is called on the Proxy.
        get: (target, key): unknown => (key === "headers" ? { get } : Reflect.get(target, key, target))
      })
      expect((yield* Webhook.fromRequest(foreign, { secret })).event).toEqual(event)
    })
  )

  it.effect("whose body was read before is rejected, and the error says so", () =>
    Effect.gen(function* () {
      yield* at(now)
      const parsed = request(body)
      yield* Effect.promise(() => parsed.json())
      const error = yield* Effect.flip(Webhook.fromRequest(parsed, { secret }))
      expect([error.reason, error.message]).toEqual(["body", expect.stringContaining("read before")])
    })
  )
})

describe("a request of Node", () => {
  const incoming = (...chunks: ReadonlyArray<string>) =>
    Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers: headers() })

  it.effect("is verified, also if a parser has left its bytes or its text", () =>
    Effect.gen(function* () {
      yield* at(now)
      const requests = [
        incoming(body.slice(0, 20), body.slice(20)),
        { headers: headers(), body: Buffer.from(body) },
        { headers: headers(), body }
      ]
      for (const request of requests) {
        expect((yield* Webhook.fromRequest(request, { secret })).event).toEqual(event)
      }
    })
  )

  it.effect("that was parsed or read before is rejected, and the error says so", () =>
    Effect.gen(function* () {
      yield* at(now)
      const read = incoming(body)
      yield* Effect.promise(() => read.toArray())
      const parsed = Object.assign(incoming(body), { body: event })
      const errors = yield* Effect.forEach([read, parsed, { headers: headers() }], (request) =>
        Effect.flip(Webhook.fromRequest(request, { secret }))
      )
      expect(errors.map(({ message, reason }) => [reason, /was (?:read|parsed)/.exec(message)?.[0]])).toEqual([
        ["body", "was read"],
        ["body", "was parsed"],
        ["body", "was read"]
      ])
    })
  )

  it.effect("with a body that does not end is rejected after 1 MiB", () =>
    Effect.gen(function* () {
      yield* at(now)
      let read = 0
      const endless = async function* () {
        while (true) {
          read++
          yield Buffer.alloc(65_536)
        }
      }
      const request = Object.assign(Readable.from(endless()), { headers: headers() })
      expect((yield* Effect.flip(Webhook.fromRequest(request, { secret }))).reason).toBe("body")
      expect(read).toBeLessThan(40)
      for (const large of ["x".repeat(1_048_577), Buffer.alloc(1_048_577)]) {
        const parsed = { headers: headers(), body: large }
        expect((yield* Effect.flip(Webhook.fromRequest(parsed, { secret }))).reason).toBe("body")
      }
    })
  )
})
