/**
 * The memory that the bodies of requests in flight take up together.
 *
 * A body is admitted when there is room for it. Otherwise it waits for a moment in its sender's
 * socket and is then refused. A key holds at most half of the memory, so that no caller shuts out
 * the others.
 */
import { Context, Data, Effect, Layer } from "effect"
import { totalmem } from "node:os"
import { constrainedMemory } from "node:process"
import { getHeapStatistics } from "node:v8"
import * as FairShare from "../admission/FairShare.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"

/** There was no room for a body (status 503, or 429 or 500 where the operation has no 503). */
export class BodyMemoryFull extends Data.TaggedError("BodyMemoryFull")<{
  /** Seconds to wait before the next try. */
  readonly retryAfter: number
}> {}

/** The room that a body has. */
export interface Room {
  /** Makes room for a body of at least this length. */
  readonly growTo: (bodyBytes: number) => Effect.Effect<void, BodyMemoryFull>
}

/** The memory for bodies. */
export class BodyMemory extends Context.Service<
  BodyMemory,
  {
    /** Runs the effect with room for a body of this length, once there is room. */
    readonly withRoom: <A, E, R>(
      keyHash: string,
      bodyBytes: number,
      use: (room: Room) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | BodyMemoryFull, R>
  }
>()("@model-gateway/server/http/BodyMemory") {}

/**
 * What a byte of JSON costs: the bytes as they came, the text made of them, the values parsed from
 * it, and as much again for what a model makes of them.
 */
const costPerByte = 4

/** How long a body waits for room. */
const patience = "2 seconds"

const retryAfter = 1

/**
 * The memory that this process may use: the limit of its heap, of its container or of the machine.
 */
export const processLimit = (): number => {
  const container = constrainedMemory()
  return Math.min(getHeapStatistics().heap_size_limit, container > 0 ? container : totalmem(), totalmem())
}

const refuse = () => Effect.fail(new BodyMemoryFull({ retryAfter }))

/** Makes the memory with this many bytes. */
export const make = (bytes: number): BodyMemory["Service"] => {
  const perOwner = Math.floor(bytes / 2)
  const share = FairShare.make({ capacity: bytes, perOwner })
  // A longer body gets all that its key may hold.
  const longest = Math.floor(perOwner / costPerByte)
  return BodyMemory.of({
    withRoom: (keyHash, bodyBytes, use) =>
      Effect.suspend(() => {
        const tickets: Array<FairShare.Ticket> = []
        let held = 0
        const growTo = (bodyBytes: number): Effect.Effect<void, BodyMemoryFull> =>
          Effect.suspend(() => {
            const length = Math.min(bodyBytes, longest)
            if (length <= held) return Effect.void
            const ticket = share.enter(keyHash, (length - held) * costPerByte)
            tickets.push(ticket)
            held = length
            return ticket.isGranted()
              ? Effect.void
              : Effect.timeoutOrElse(ticket.granted, { duration: patience, orElse: refuse })
          })
        const leave = Effect.sync(() => {
          for (const ticket of tickets) ticket.leave()
        })
        return growTo(bodyBytes).pipe(Effect.andThen(use({ growTo })), Effect.ensuring(leave))
      })
  })
}

/**
 * The memory that `bodyMemory` of the settings names; by default a quarter of what the process may
 * use.
 */
export const layer: Layer.Layer<BodyMemory> = Layer.effect(
  BodyMemory,
  Effect.map(GatewayServerConfig, ({ bodyMemory }) => make(bodyMemory ?? Math.floor(processLimit() / 4)))
)
