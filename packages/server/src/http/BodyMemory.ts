/**
 * Limits the memory that the bodies of all requests in flight use together.
 *
 * Memory is set aside as a body arrives, and no more than has arrived, so a body that is announced
 * and not sent takes next to nothing. A body that finds no memory waits briefly, with the rest of
 * it still in its sender's socket, and is then rejected. Four rules keep callers from shutting
 * each other out:
 *
 * - The bodies that one key has announced may take half of the memory together.
 * - A body that is still arriving gives way if another key's body waits, and its own key has more
 *   of the memory than that key does.
 * - When the memory is used up, short bodies and the first parts of others have some in addition.
 * - Management operations have memory of their own.
 *
 * The attacks `transcriptions`, `hoarded-memory`, `announced-bodies` and `held-bodies` try to
 * shut others out.
 */
import * as Timer from "@model-gateway/core/unstable/Timer"
import { Clock, Context, Data, Effect, Layer, Stream } from "effect"
import { constVoid } from "effect/Function"
import { processLimit } from "@model-gateway/offers/ResponseMemory"
import * as FairShare from "@model-gateway/offers/FairShare"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"

/** There was no room for a body (status 503, or 429 or 500 if the operation has no 503). */
export class BodyMemoryFull extends Data.TaggedError("BodyMemoryFull")<{
  /** Seconds to wait before the next attempt. */
  readonly retryAfter: number
}> {}

/** Whose body it is. */
export interface Owner {
  readonly keyHash: string
  /** Whether it is the body of a management operation. */
  readonly isManagement: boolean
}

/** How long a body is. */
export interface Length {
  /** Undefined: not announced. */
  readonly announced: number | undefined
  /** How much of it is in memory at a time, at most. */
  readonly inMemory: number
}

/** The memory of one body. */
export interface Room {
  /** Acquires memory for each chunk before it is passed on. */
  readonly arriving: <E, R>(body: Stream.Stream<Uint8Array, E, R>) => Stream.Stream<Uint8Array, E | BodyMemoryFull, R>
  /**
   * Reads a body that is no longer than {@link firstRoom}, whose memory was acquired with the first
   * part.
   */
  readonly reading: <A, E, R>(read: Effect.Effect<A, E, R>) => Effect.Effect<A, E | BodyMemoryFull, R>
}

/** The memory for bodies. */
export class BodyMemory extends Context.Service<
  BodyMemory,
  {
    /**
     * Waits for memory for the first part of a body, then runs the effect, and releases the memory.
     */
    readonly withRoom: <A, E, R>(
      owner: Owner,
      length: Length,
      use: (room: Room) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | BodyMemoryFull, R>
  }
>()("@model-gateway/server/http/BodyMemory") {}

/**
 * A body gets memory for this many bytes at first, or for its announced length. The memory
 * doubles as the body grows.
 */
export const firstRoom = 64 * 1024

/** A body of unknown length gets less: most of them are short. */
const firstRoomOfUnknown = 16 * 1024

/**
 * Bytes of memory per byte of JSON: the bytes received, the text, the parsed values, and as much
 * again for what a model makes of them.
 */
const costPerByte = 4

/** How long a body waits for memory. */
const maxWait = "2 seconds"

/** How often a waiting body looks for one that gives way. */
const lookEvery = "250 millis"

/**
 * Milliseconds for which a body may arrive before it gives way. Most bodies have arrived by then.
 */
const minArrival = 1000

/** When the memory is used up, the first parts of bodies have this part of it in addition. */
const firstPart = 1 / 8

/** Management operations have this part of the memory in addition. */
const managementPart = 1 / 8

const retryAfter = 1

const refuse = () => Effect.fail(new BodyMemoryFull({ retryAfter }))

/** A body that is arriving. */
interface Arriving {
  readonly keyHash: string
  /** When it began to arrive, in monotonic milliseconds. */
  since: number
  /** The memory that it has acquired, in bytes. */
  acquired: number
  isGivingWay: boolean
  /** Ends the reading. */
  giveWay: () => void
}

/** The memory of the bodies of each key that are still arriving. */
const acquiredByKey = (bodies: Iterable<Arriving>): ReadonlyMap<string, number> => {
  const byKey = new Map<string, number>()
  for (const { acquired, keyHash } of bodies) byKey.set(keyHash, (byKey.get(keyHash) ?? 0) + acquired)
  return byKey
}

/** Memory that is shared by keys. */
const makeShared = (bytes: number) => {
  const perKey = Math.floor(bytes / 2)
  // A longer body gets all that its key may have.
  const maxBytes = Math.floor(perKey / costPerByte)
  const announced = FairShare.make({ capacity: Number.POSITIVE_INFINITY, perOwner: perKey })
  const memory = FairShare.make({ capacity: bytes, perOwner: perKey })
  const additional = bytes * firstPart
  const firstParts = FairShare.make({ capacity: additional, perOwner: additional / 2 })
  // The oldest first.
  const arriving = new Set<Arriving>()

  /** Chooses a body to give way to one of this key: the oldest one of the key that has most. */
  const makeRoomFor = (keyHash: string, now: number): void => {
    const byKey = acquiredByKey(arriving)
    let chosen: Arriving | undefined
    let largest = byKey.get(keyHash) ?? 0
    for (const body of arriving) {
      // Its memory will be free in a moment.
      if (body.isGivingWay) return
      const acquired = byKey.get(body.keyHash) ?? 0
      if (body.keyHash === keyHash || now - body.since < minArrival || acquired <= largest) continue
      chosen = body
      largest = acquired
    }
    if (chosen === undefined) return
    chosen.isGivingWay = true
    chosen.giveWay()
  }

  const makeRooms = (keyHash: string) =>
    Effect.forever(
      Effect.andThen(
        Effect.map(MonotonicTime.millis, (now) => makeRoomFor(keyHash, now)),
        Effect.sleep(lookEvery)
      )
    )

  const withRoom = <A, E, R>(keyHash: string, length: Length, use: (room: Room) => Effect.Effect<A, E, R>) =>
    Effect.withFiber((fiber): Effect.Effect<A, E | BodyMemoryFull, R> => {
      const clock = fiber.getRef(Clock.Clock)
      const maxOfBody = Math.min(length.announced ?? Number.POSITIVE_INFINITY, length.inMemory, maxBytes)
      const body: Arriving = { keyHash, since: 0, acquired: 0, isGivingWay: false, giveWay: constVoid }
      const tickets: Array<FairShare.Ticket> = []
      let allowed = 0

      /** Enters a share. Undefined: nothing to wait for. */
      const enter = (
        share: FairShare.FairShare,
        amount: number,
        { instead, meanwhile }: { instead?: FairShare.FairShare | undefined; meanwhile: () => Effect.Effect<never> }
      ): Effect.Effect<void, BodyMemoryFull> | undefined => {
        const ticket = share.enter(keyHash, amount)
        tickets.push(ticket)
        if (ticket.isGranted()) return undefined
        const other = instead?.enter(keyHash, amount)
        if (other?.isGranted() === true) {
          ticket.leave()
          tickets.push(other)
          return undefined
        }
        other?.leave()
        return Effect.raceFirst(
          Effect.timeoutOrElse(ticket.granted, { duration: maxWait, orElse: refuse }),
          meanwhile()
        )
      }

      /**
       * Waits until the key may have a body of this length in progress. Undefined: there is nothing
       * to wait for.
       */
      const allow = (bodyBytes: number): Effect.Effect<void, BodyMemoryFull> | undefined => {
        const more = Math.min(bodyBytes, maxOfBody) * costPerByte - allowed
        if (more <= 0) return undefined
        allowed += more
        return enter(announced, more, { meanwhile: () => Effect.never })
      }

      /** Acquires memory for this many bytes. Undefined: it is acquired. */
      const acquire = (bodyBytes: number): Effect.Effect<void, BodyMemoryFull> | undefined => {
        const more = Math.min(bodyBytes, maxOfBody) * costPerByte - body.acquired
        if (more <= 0) return undefined
        const instead = body.acquired === 0 ? firstParts : undefined
        const acquired = () => {
          body.acquired += more
        }
        const waiting = enter(memory, more, { instead, meanwhile: () => makeRooms(keyHash) })
        if (waiting !== undefined) return Effect.map(waiting, acquired)
        acquired()
        return undefined
      }

      /** Waits for {@link allow}, then acquires the memory. Undefined: it is acquired. */
      const growTo = (allowedBytes: number, bodyBytes: number): Effect.Effect<void, BodyMemoryFull> | undefined => {
        const waiting = allow(allowedBytes)
        return waiting === undefined
          ? acquire(bodyBytes)
          : Effect.andThen(
              waiting,
              Effect.suspend(() => acquire(bodyBytes) ?? Effect.void)
            )
      }

      const begin = () => {
        body.since = MonotonicTime.millisOf(clock)
        arriving.add(body)
      }
      const end = Effect.sync(() => arriving.delete(body))
      const hasToGiveWay = Effect.callback<never, BodyMemoryFull>((resume) => {
        body.giveWay = () => resume(refuse())
      })

      const room: Room = {
        reading: (read) => {
          const watched = Timer.watched(read, (_, expire: (instead: Effect.Effect<never, BodyMemoryFull>) => void) => {
            begin()
            body.giveWay = () => expire(refuse())
            return constVoid
          })
          return Effect.ensuring(watched, end)
        },
        arriving: (stream) => {
          let received = 0
          const admitted = Stream.mapEffect(stream, (chunk) => {
            received += chunk.length
            const bodyBytes = 2 ** Math.ceil(Math.log2(received))
            return Effect.as(growTo(bodyBytes, bodyBytes) ?? Effect.void, chunk)
          })
          const begun = Stream.suspend(() => {
            begin()
            return Stream.interruptWhen(admitted, hasToGiveWay)
          })
          return Stream.ensuring(begun, end)
        }
      }
      const leave = (): undefined => {
        for (const ticket of tickets) ticket.leave()
      }
      const useWithRoom = () => {
        const waiting = growTo(
          length.announced ?? firstRoomOfUnknown,
          length.announced === undefined ? firstRoomOfUnknown : firstRoom
        )
        return waiting === undefined
          ? use(room)
          : Effect.andThen(
              waiting,
              Effect.suspend(() => use(room))
            )
      }
      // Nothing is acquired before its release is registered: an interruption may come in between.
      return Effect.onExitPrimitive(Effect.suspend(useWithRoom), leave)
    })
  return { withRoom }
}

/** Makes a memory budget of this many bytes, and the memory of management operations. */
export const make = (bytes: number): BodyMemory["Service"] => {
  const shared = makeShared(bytes)
  const management = makeShared(Math.ceil(bytes * managementPart))
  return BodyMemory.of({
    withRoom: ({ isManagement, keyHash }, length, use) =>
      (isManagement ? management : shared).withRoom(keyHash, length, use)
  })
}

/**
 * The memory budget from the setting `bodyMemory`. Default: a quarter of what the process may use.
 */
export const layer: Layer.Layer<BodyMemory> = Layer.effect(
  BodyMemory,
  Effect.map(GatewayServerConfig, ({ bodyMemory }) => make(bodyMemory ?? Math.floor(processLimit() / 4)))
)
