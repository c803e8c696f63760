// The receiver verifies webhooks, handles them once, and responds.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { HandledWebhooks, receive } from "../src/Receiver.ts"
import { start } from "./Processes.ts"

const key = Buffer.alloc(32, 3)
const secret = `whsec_${key.toString("base64")}`

const event = {
  type: "video.completed",
  timestamp: "2027-01-15T08:00:00.000Z",
  data: { id: "video_1", polling_url: "/api/v1/videos/video_1", status: "completed" }
}

/** A webhook of the gateway, sent at this time. */
const delivery = (id: string, seconds: number, body = JSON.stringify(event)) => ({
  method: "POST",
  body,
  headers: {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`
  }
})

const request = (id: string) => new Request("https://receiver.example/hooks", delivery(id, 0))

describe("the receiver", () => {
  it.effect("handles each webhook once, however often it arrives", () =>
    Effect.gen(function* () {
      const handled: Array<string> = []
      const answer = receive({ secret }, ({ data }) => Effect.sync(() => handled.push(data.id)))
      const answers = yield* Effect.all([answer(request("a")), answer(request("a")), answer(request("b"))], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [204, 204, 204]
      )
      assert.deepStrictEqual(handled, ["video_1", "video_1"])
    }).pipe(Effect.provide(HandledWebhooks.layerMemory))
  )

  it.effect("handles a webhook again whose work failed", () =>
    Effect.gen(function* () {
      let tries = 0
      const answer = receive({ secret }, () =>
        Effect.suspend(() => (tries++ === 0 ? Effect.fail("the disk is full") : Effect.void))
      )
      assert.strictEqual((yield* answer(request("a"))).status, 500)
      assert.strictEqual((yield* answer(request("a"))).status, 204)
      assert.strictEqual((yield* answer(request("a"))).status, 204)
      assert.strictEqual(tries, 2)
    }).pipe(Effect.provide(HandledWebhooks.layerMemory))
  )

  it.effect("answers 400 to a request that the gateway did not send, and 500 if its own secret is wrong", () =>
    Effect.gen(function* () {
      const untouched = Effect.die(new Error("it was handled"))
      const other = `whsec_${Buffer.alloc(32, 4).toString("base64")}`
      assert.strictEqual((yield* receive({ secret: other }, () => untouched)(request("a"))).status, 400)
      assert.strictEqual((yield* receive({ secret: "?" }, () => untouched)(request("a"))).status, 500)
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual((yield* receive({ secret }, () => untouched)(request("a"))).status, 400)
    }).pipe(Effect.provide(HandledWebhooks.layerMemory))
  )

  it.live("runs as a server", () =>
    Effect.gen(function* () {
      const executable = fileURLToPath(new URL("../dist/receive.js", import.meta.url))
      const { said, output } = yield* start(executable, [], {
        cwd: tmpdir(),
        env: { WEBHOOK_SECRET: `${secret} ${secret}`, PORT: "0" }
      })
      yield* said(/Listening on \S+:\d+/)
      const [, port] = /:(\d+)/.exec(/Listening on \S+/.exec(output())?.[0] ?? "") ?? []
      const send = (body: string) =>
        Effect.promise(() =>
          fetch(`http://127.0.0.1:${port}/hooks`, {
            ...delivery("a", Math.floor(Date.now() / 1000)),
            body
          })
        )
      assert.strictEqual((yield* send(JSON.stringify(event))).status, 204)
      assert.strictEqual((yield* send(`${JSON.stringify(event)} `)).status, 400)
    }).pipe(Effect.scoped)
  )
})
