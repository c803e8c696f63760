import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { runAndKill } from "../Processes.ts"
import { databases } from "../TestDatabases.ts"
import { clockAhead, layerAt } from "../TestStorage.ts"
import { worker, workspace } from "./TestDelivery.ts"
import * as TestReceiver from "./TestReceiver.ts"

/** Runs the process until it has said something, and kills it then. */
const killed = (location: string, url: string, how: "ended" | "answered") =>
  runAndKill("webhooks/fixtures/process.ts", location, url, how)

const deliveries = Effect.gen(function* () {
  const { id } = yield* workspace
  return (yield* (yield* DeliveryStore).list(id, {}, {})).items
})

const delivered = deliveries.pipe(
  Effect.repeat({ until: ([first]) => first?.status === "delivered", schedule: Schedule.spaced("20 millis") })
)

describe.each(databases)("a webhook of a killed process on $name", ({ create }) => {
  it.live(
    "that had ended the job is sent by another one",
    () =>
      Effect.gen(function* () {
        const location = yield* create
        const { received, url } = yield* TestReceiver.make(TestReceiver.status(204))
        expect(yield* killed(location, url, "ended")).toBe("ended")
        expect(received).toEqual([])
        const [delivery] = yield* delivered.pipe(Effect.provide(worker()), Effect.provide(layerAt(location)))
        expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([delivery?.id])
      }).pipe(Effect.scoped),
    30_000
  )

  it.live(
    "that had got the receiver's answer is sent again under the same id, once its claim of 10 seconds is over",
    () =>
      Effect.gen(function* () {
        const location = yield* create
        const { received, url } = yield* TestReceiver.make(TestReceiver.status(204))
        expect(yield* killed(location, url, "answered")).toBe("answered")
        expect(received).toHaveLength(1)
        yield* Effect.gen(function* () {
          const [delivery] = yield* deliveries
          expect(delivery?.status).toBe("pending")
          yield* delivered.pipe(Effect.provide(worker()), clockAhead(10_000))
          expect(received.map(({ body, headers }) => [headers["webhook-id"], body])).toEqual(
            received.map(() => [delivery?.id, delivery?.body])
          )
          expect(received).toHaveLength(2)
        }).pipe(Effect.provide(Layer.fresh(layerAt(location))))
      }).pipe(Effect.scoped),
    30_000
  )
})
