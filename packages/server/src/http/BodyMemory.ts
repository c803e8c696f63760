/**
 * Limits the memory that the bodies of all requests in flight use together.
 *
 * A body is admitted when there is room for it. Otherwise its request waits briefly, with the body
 * still in its sender's socket, and is then rejected. A key holds at most half of the memory, so
 * that no caller shuts out the others.
 */
import { Context, Data, Effect, Layer } from "effect"
import { totalmem } from "node:os"
import { constrainedMemory } from "node:process"
import { getHeapStatistics } from "node:v8"
import * as FairShare from "../internal/FairShare.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"

/** There was no room for a body (status 503, or 429 or 500 if the operation has no 503). */
export class BodyMemoryFull extends Data.TaggedError("BodyMemoryFull")<{
  /** Seconds to wait before the next attempt. */
  readonly retryAfter: number
}> {}

/** The memory reserved for one body. */
export interface Room {
  /** Reserves memory for a body of at least this length. */
  readonly growTo: (bodyBytes: number) => Effect.Effect<void, BodyMemoryFull>
}

/** The memory for bodies. */
export class BodyMemory extends Context.Service<
  BodyMemory,
  {
    /** Waits for memory for a body of this length, then runs the effect while holding it. */
    readonly withRoom: <A, E, R>(
      keyHash: string,
      bodyBytes: number,
      use: (room: Room) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | BodyMemoryFull, R>
  }
>()("@model-gateway/server/http/BodyMemory") {}

/**
 * Bytes of memory per byte of JSON: the bytes received, the text, the parsed values, and as much
 * again for what a model makes of them.
 */
const costPerByte = 4

/** How long a body waits for memory. */
const patience = "2 seconds"

const retryAfter = 1

/** The memory that this process may use: the limit of its heap, its container or the machine. */
export const processLimit = (): number => {
  const container = constrainedMemory()
  return Math.min(getHeapStatistics().heap_size_limit, container > 0 ? container : totalmem(), totalmem())
}

const refuse = () => Effect.fail(new BodyMemoryFull({ retryAfter }))

/** Makes a memory budget of this many bytes. */
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
 * The memory budget from the setting `bodyMemory`. Default: a quarter of what the process may use.
 */
export const layer: Layer.Layer<BodyMemory> = Layer.effect(
  BodyMemory,
  Effect.map(GatewayServerConfig, ({ bodyMemory }) => make(bodyMemory ?? Math.floor(processLimit() / 4)))
)
