/**
 * Looks up the addresses of hosts, so that a name whose servers are silent delays nobody else.
 *
 * Node asks the operating system on libuv's threads, for two names at a time: a silent name
 * occupies its thread for seconds, and every new connection waits behind it. So names that callers
 * and providers choose are asked of the name servers directly, over sockets, with a time limit, and
 * for each owner a few at a time. Names that the operator chose are asked of the operating system,
 * which also knows `/etc/hosts` and search domains: one look-up of a name at a time, for all.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Cache, Context, Data, Duration, Effect, Exit, Option, Semaphore } from "effect"
import { lookup as systemLookup, type LookupAddress, promises, type RecordWithTtl } from "node:dns"
import type { LookupFunction } from "node:net"
import * as FairShare from "@model-gateway/offers/FairShare"

/** An address, and for how many seconds it may be used. */
export interface Found extends LookupAddress {
  readonly ttl?: number | undefined
}

/**
 * Why a name has no address. The codes are those of the operating system: there is no such name, or
 * nobody answered.
 */
export class NameError extends Data.TaggedError("NameError")<{ readonly code: "ENOTFOUND" | "EAI_AGAIN" }> {
  override get message(): string {
    return this.code === "ENOTFOUND" ? "The host does not exist" : "The host's name servers did not answer"
  }
}

/** Asks for all addresses of a name. */
export type LookUp = (name: string) => Effect.Effect<ReadonlyArray<Found>, NameError>

/** Looks up names, and keeps what it found for a while. */
export interface HostNames {
  readonly addressesOf: (name: string) => Effect.Effect<ReadonlyArray<LookupAddress>, NameError>
}

/** The time limit of a look-up. */
const timeLimit = Duration.seconds(5)

/** The wait for one answer of a name server, in milliseconds. It is asked twice. */
const serverTimeout = 2000

/** The maximum number of addresses of a name that are used, of each family. */
const maxAddresses = 16

/** The maximum number of names that are kept. */
const maxNames = 1024

/** The maximum number of look-ups at a time. */
const maxLookUps = 64

/** The maximum number of look-ups at a time of one {@link Owner}. */
const maxLookUpsOfOwner = 8

/** The longest time for which an address is used without asking again. */
const maxAge = Duration.minutes(1)

const minAge = Duration.seconds(1)

/** For how long a name that has no address is not asked for again. */
const ageOfFailure = Duration.seconds(5)

const ageOfSystem = Duration.seconds(30)

const isMissing = (error: unknown): boolean => ["ENOTFOUND", "ENODATA"].includes(ErrorCode.of(error) ?? "")

/**
 * Asks name servers: those given, such as `10.0.0.53` or `[::1]:5353`, or by default those of the
 * machine. `/etc/hosts` and search domains do not apply.
 */
export const fromNameServers =
  (servers: ReadonlyArray<string>): LookUp =>
  (name) =>
    Effect.suspend(() => {
      // A resolver of its own, which can be canceled alone, and remembers no server as silent.
      const resolver = new promises.Resolver({ timeout: serverTimeout, tries: 2 })
      if (servers.length > 0) resolver.setServers(servers)
      const ask = (family: 4 | 6, records: () => Promise<ReadonlyArray<RecordWithTtl>>) =>
        Effect.tryPromise({ try: records, catch: (error) => error }).pipe(
          Effect.map((found) => found.slice(0, maxAddresses).map(({ address, ttl }) => ({ address, ttl, family }))),
          Effect.timeoutOrElse({ duration: timeLimit, orElse: () => Effect.fail(new Error("no answer")) }),
          Effect.exit
        )
      const both = Effect.all(
        [ask(4, () => resolver.resolve4(name, { ttl: true })), ask(6, () => resolver.resolve6(name, { ttl: true }))],
        { concurrency: 2 }
      )
      return both.pipe(
        Effect.ensuring(Effect.sync(() => resolver.cancel())),
        Effect.flatMap((answers) => {
          const found = answers.flatMap((answer) => (Exit.isSuccess(answer) ? answer.value : []))
          if (found.length > 0) return Effect.succeed(found)
          const hasNone = answers.every(
            (answer) => Exit.isSuccess(answer) || Option.exists(Exit.findErrorOption(answer), isMissing)
          )
          return Effect.fail(new NameError({ code: hasNone ? "ENOTFOUND" : "EAI_AGAIN" }))
        })
      )
    })

/** Asks the operating system. Nothing can interrupt it. */
const fromSystem: LookUp = (name) =>
  Effect.uninterruptible(
    Effect.callback<ReadonlyArray<Found>, NameError>((resume) => {
      systemLookup(name, { all: true }, (error, found) =>
        resume(
          error === null
            ? Effect.succeed(found)
            : Effect.fail(new NameError({ code: isMissing(error) ? "ENOTFOUND" : "EAI_AGAIN" }))
        )
      )
    })
  )

/** How {@link system} asks. Default: by the operating system. */
export const System = Context.Reference<LookUp>("@model-gateway/server/outbound/HostNames/System", {
  defaultValue: () => fromSystem
})

/** How {@link shared} asks. Default: {@link fromNameServers}. */
export const NameServers = Context.Reference<LookUp | undefined>(
  "@model-gateway/server/outbound/HostNames/NameServers",
  {
    defaultValue: () => undefined
  }
)

/** Whose look-ups count together: the id of a workspace. Default: those without one. */
export const Owner = Context.Reference<string>("@model-gateway/server/outbound/HostNames/Owner", {
  defaultValue: () => ""
})

/**
 * Names that the operator chose, asked of the operating system. `maxLookUps` leaves threads to
 * others. Default: no maximum.
 */
export const system = Effect.fnUntraced(function* (
  options: { readonly maxLookUps?: number } = {}
): Effect.fn.Return<HostNames> {
  const lookUp = yield* System
  const places = yield* Semaphore.make(options.maxLookUps ?? Number.POSITIVE_INFINITY)
  const cache = yield* Cache.makeWith((name: string) => places.withPermit(lookUp(name)), {
    capacity: maxNames,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? ageOfSystem : minAge)
  })
  return { addressesOf: (name) => Cache.get(cache, name) }
})

const ageOf = (found: ReadonlyArray<Found>): Duration.Duration =>
  Duration.clamp(Duration.seconds(Math.min(...found.map(({ ttl = 0 }) => ttl))), { minimum: minAge, maximum: maxAge })

/**
 * Names that callers and providers choose, asked of these name servers: see {@link
 * fromNameServers}.
 */
export const shared = Effect.fnUntraced(function* (servers: ReadonlyArray<string>): Effect.fn.Return<HostNames> {
  const lookUp = (yield* NameServers) ?? fromNameServers(servers)
  const places = FairShare.make({ capacity: maxLookUps, perOwner: maxLookUpsOfOwner })
  const cache = yield* Cache.makeWith(lookUp, {
    capacity: maxNames,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? ageOf(exit.value) : ageOfFailure)
  })
  return {
    addressesOf: Effect.fnUntraced(function* (name) {
      const known = yield* Cache.getSuccess(cache, name)
      if (Option.isSome(known)) return known.value
      // Before the cache: who asks for the same name must not wait for the share of another owner.
      return yield* places.withAmount(yield* Owner, 1)(Cache.get(cache, name))
    })
  }
})

/** The addresses as a `lookup` for connections. `check` may refuse them. */
export const toLookup = (
  addressesOf: (name: string) => Effect.Effect<ReadonlyArray<LookupAddress>, Error>
): Effect.Effect<LookupFunction> =>
  Effect.map(Effect.context(), (context): LookupFunction => {
    const run = Effect.runCallbackWith(context)
    return (name, options, answer) => {
      const found = Effect.match(addressesOf(name), {
        onFailure: (error) => () => answer(error, []),
        onSuccess: (all) => () => {
          const [first] = all
          if (first === undefined) return answer(new NameError({ code: "ENOTFOUND" }), [])
          if (options.all === true) return answer(null, [...all])
          answer(null, first.address, first.family)
        }
      })
      run(found, {
        onExit: (exit) => (Exit.isSuccess(exit) ? exit.value() : answer(new NameError({ code: "EAI_AGAIN" }), []))
      })
    }
  })
