import {
  type Credential,
  gatewayCredential,
  type Kind,
  type Offer,
  type Offers,
  type RerankOffer
} from "@model-gateway/offers/Offer"
import {
  BadResponse,
  ConnectionLost,
  InputTooLarge,
  InvalidRequest,
  OutOfCredit,
  Overloaded,
  ProviderError,
  RateLimited,
  type Reason,
  simulatedStatuses,
  Simulated,
  Timeout,
  Unauthorized,
  Unavailable,
  UnknownModel
} from "@model-gateway/offers/ProviderError"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { MaxPrice } from "@model-gateway/core/Routing"
import { submitVideoOperation } from "@model-gateway/core/Video"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import type { ProviderAttempt } from "../../src/accounting/ProviderAttempt.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as Candidate from "../../src/routing/Candidate.ts"
import * as ModelCatalog from "../../src/routing/ModelCatalog.ts"
import * as Candidates from "../../src/routing/Candidates.ts"
import * as ProviderFailures from "../../src/routing/ProviderFailures.ts"
import * as Router from "../../src/routing/Router.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

type VideoRefusal = (typeof submitVideoOperation.error)[number]["Type"]

const fail = (reason: Reason) => Effect.fail(new ProviderError({ reason }))

const layer = Router.layer.pipe(
  Layer.provide(CircuitBreaker.layerStoreMemory()),
  Layer.provide(GatewayServerConfig.layer({ circuits: { failures: 2, openFor: Duration.seconds(10) } }))
)

/** A router with this many waiting calls for each key. */
const queueing = (waitingCalls: number, openFor: number) =>
  Router.layer.pipe(
    Layer.provide(CircuitBreaker.layerStoreMemory()),
    Layer.provide(
      GatewayServerConfig.layer({ waitingCalls, circuits: { failures: 2, openFor: Duration.seconds(openFor) } })
    )
  )

const answers = (names: ReadonlyArray<string>, prices: ReadonlyArray<number> = []) => {
  const catalog = ModelCatalog.make(
    names.flatMap((name, i) =>
      scripted({ name, price: prices[i] ?? 1000, rerank: (request) => Effect.succeed(asTheyCame(request)) })
    )
  )
  const entry = catalog.rerank("test/rank")
  if (entry === undefined) throw new Error("no such model")
  return entry
}

const candidatesOf = (...names: ReadonlyArray<string>) => answers(names).offers.flatMap(Candidate.ofGateway)

const namesOf = (candidates: ReadonlyArray<Candidate.Candidate>) => candidates.map(({ offer }) => offer.provider)

/** The answer or the failure, each with its attempts. */
const withAttempts = <A, O extends Offer>({ attempts, exit }: Router.Routed<A, O>) =>
  exit.pipe(
    Effect.map((answered) => ({ ...answered, attempts })),
    Effect.mapError((failure) => Object.assign(failure, { attempts }))
  )

/** Routes over providers named after what they do. */
const routed = (script: Readonly<Record<string, Effect.Effect<string, ProviderError>>>) =>
  Effect.gen(function* () {
    const router = yield* Router.Router
    return yield* router.route({
      owner: "key",
      candidates: candidatesOf(...Object.keys(script)),
      call: ({ offer }) => script[offer.provider] ?? Effect.die(new Error("not scripted")),
      attemptTimeout: Duration.seconds(5),
      deadline: Duration.seconds(8),
      units: 1
    })
  })

const route = (script: Parameters<typeof routed>[0]) => Effect.flatMap(routed(script), withAttempts)

const upstream = scripted({ name: "a", rerank: () => Effect.never })
const inProcess = upstream.map((offer) => ({ ...offer, isInProcess: true }))

/** An offer that takes one call at a time. */
const narrow = upstream.map((offer) => ({ ...offer, concurrency: 1 }))

/** A call of a key to an offer. */
const callOf = (owner: string, offers: Offers, answer: Effect.Effect<string, ProviderError>) =>
  Effect.gen(function* () {
    const router = yield* Router.Router
    return yield* withAttempts(
      yield* router.route({
        owner,
        candidates: offers.flatMap(Candidate.ofGateway),
        call: () => answer,
        attemptTimeout: Duration.seconds(5),
        deadline: Duration.seconds(8),
        units: 1
      })
    )
  })

/** Has one provider answer in a way of its own. */
const call = (offers: Offers, answer: Effect.Effect<string, ProviderError>, credential?: Credential) =>
  Effect.gen(function* () {
    const router = yield* Router.Router
    return yield* withAttempts(
      yield* router.route({
        owner: "key",
        candidates: offers.map((offer) => ({ offer, credential: credential ?? gatewayCredential() })),
        call: () => answer,
        attemptTimeout: Duration.seconds(5),
        deadline: Duration.seconds(8),
        units: 1
      })
    )
  })

const timesOut = Effect.fnUntraced(function* (offers: Offers) {
  const fiber = yield* Effect.forkChild(Effect.flip(call(offers, Effect.never)))
  yield* TestClock.adjust("5 seconds")
  expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "AttemptsFailed", reason: { _tag: "Timeout" } })
})

describe("Router", () => {
  it.effect("falls back until a candidate answers, and lists the attempts", () =>
    Effect.gen(function* () {
      const { answer, attempts, candidate } = yield* route({
        a: fail(new Overloaded({})),
        b: fail(new BadResponse({ description: "no JSON" })),
        c: Effect.succeed("from c"),
        d: Effect.die(new Error("never asked"))
      })
      expect([answer, candidate.offer.provider]).toEqual(["from c", "c"])
      expect(attempts.map(({ outcome, provider }) => [provider, outcome])).toEqual([
        ["a", "Overloaded"],
        ["b", "BadResponse"],
        ["c", "Success"]
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets calls wait for an offer that takes one at a time, and measures their time from their start", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.forkChild(callOf("key", narrow, Effect.delay(Effect.succeed(`answer ${n}`), "3 seconds")))
      )
      // The last waits 6 seconds and ends after 9: later than the limits of an attempt and of all.
      yield* TestClock.adjust("9 seconds")
      const answers = yield* Effect.forEach(fibers, Fiber.join)
      expect(answers.map(({ answer }) => answer)).toEqual(["answer 1", "answer 2", "answer 3"])
      expect(answers.map(({ attempts }) => attempts.map(({ seconds }) => seconds))).toEqual([[3], [3], [3]])
    }).pipe(Effect.provide(queueing(20, 60)))
  )

  it.effect("serves the keys that wait for an offer in turn", () =>
    Effect.gen(function* () {
      const served: Array<string> = []
      const work = (owner: string) =>
        Effect.andThen(
          Effect.sync(() => void served.push(owner)),
          Effect.delay(Effect.succeed("answer"), "1 second")
        )
      for (const owner of ["a", "a", "a", "a", "b", "c", "b"])
        yield* Effect.forkChild(callOf(owner, narrow, work(owner)))
      yield* TestClock.adjust("7 seconds")
      expect(served).toEqual(["a", "a", "b", "c", "a", "b", "a"])
    }).pipe(Effect.provide(queueing(20, 60)))
  )

  it.effect("refuses the calls of a key that has too many waiting, and no others, and opens no circuit", () =>
    Effect.gen(function* () {
      const work = Effect.delay(Effect.succeed("answer"), "1 second")
      const many = yield* Effect.forEach(Array.from({ length: 60 }), () =>
        Effect.forkChild(Effect.result(callOf("key", narrow, work)))
      )
      yield* TestClock.adjust("500 millis")
      const other = yield* Effect.forkChild(callOf("other", narrow, work))
      yield* TestClock.adjust("2500 millis")
      expect((yield* Fiber.join(other)).attempts).toMatchObject([{ outcome: "Success", seconds: 1 }])
      yield* TestClock.adjust("2 seconds")
      const results = yield* Effect.forEach(many, Fiber.join)
      const refused = results.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
      expect([results.length, refused.length]).toEqual([60, 60 - 1 - 3])
      for (const failure of refused) {
        expect(failure).toMatchObject({
          _tag: "AttemptsFailed",
          reason: { _tag: "Overloaded" },
          attempts: [{ outcome: "Overloaded", seconds: 0, billed: "no" }]
        })
        expect(ProviderFailures.forTranscription(failure, failure.attempts)).toMatchObject({
          _tag: "ProviderOverloaded"
        })
      }
      expect((yield* callOf("key", narrow, Effect.succeed("answer"))).answer).toBe("answer")
    }).pipe(Effect.provide(queueing(3, 60)))
  )

  it.effect("lets a call wait no longer than its deadline, then tries the next candidate", () =>
    Effect.gen(function* () {
      const router = yield* Router.Router
      yield* Effect.forkChild(callOf("other", narrow, Effect.delay(Effect.succeed("late"), "5 seconds")))
      yield* Effect.forkChild(callOf("other", narrow, Effect.delay(Effect.succeed("late"), "5 seconds")))
      yield* TestClock.adjust("1 millis")
      const waiting = yield* Effect.forkChild(
        router.route({
          owner: "key",
          candidates: [...narrow, ...scripted({ name: "b", rerank: () => Effect.never })].flatMap(Candidate.ofGateway),
          call: ({ offer }) => Effect.succeed(offer.provider),
          attemptTimeout: Duration.seconds(5),
          deadline: Duration.seconds(2),
          units: 1
        })
      )
      yield* TestClock.adjust("2 seconds")
      const { answer, attempts } = yield* withAttempts(yield* Fiber.join(waiting))
      expect([answer, attempts.map(({ outcome }) => outcome)]).toEqual(["b", ["Overloaded", "Success"]])
    }).pipe(Effect.provide(queueing(20, 60)))
  )

  it.effect("gives the place of a caller that disconnects to the next one, waiting or served", () =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(callOf("key", narrow, Effect.never))
      const second = yield* Effect.forkChild(callOf("key", narrow, Effect.never))
      const third = yield* Effect.forkChild(callOf("key", narrow, Effect.succeed("answer")))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      expect((yield* Fiber.join(third)).answer).toBe("answer")
    }).pipe(Effect.provide(queueing(2, 60)))
  )

  it.effect("opens only the circuit of a tenant whose own credential is rejected", () =>
    Effect.gen(function* () {
      const revoked = { id: "tenant-1" }
      const valid = { id: "tenant-2" }
      const answerTo = ({ id }: Credential) =>
        id === revoked.id ? fail(new Unauthorized({})) : Effect.succeed(`for ${id}`)
      yield* Effect.repeat(Effect.flip(call(upstream, answerTo(revoked), revoked)), { times: 1 })
      expect((yield* Effect.flip(call(upstream, answerTo(revoked), revoked)))._tag).toBe("NoneUp")
      expect((yield* call(upstream, answerTo(valid), valid)).answer).toBe("for tenant-2")
      expect((yield* call(upstream, Effect.succeed("for the gateway"))).answer).toBe("for the gateway")
    }).pipe(Effect.provide(layer))
  )

  it.effect("records of each attempt what the upstream answered, and whether it bills", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        route({
          refused: Effect.fail(new ProviderError({ reason: new RateLimited({}), status: 429 })),
          partly: Effect.fail(new ProviderError({ reason: new RateLimited({}), status: 429, isPartlyBilled: true })),
          silent: fail(new Timeout()),
          lost: fail(new ConnectionLost()),
          nonsense: Effect.fail(new ProviderError({ reason: new BadResponse({ description: "d" }), status: 200 })),
          broken: Effect.fail(new ProviderError({ reason: new BadResponse({ description: "d" }), status: 500 })),
          away: fail(new Unavailable({}))
        })
      )
      expect(failure.attempts).toEqual([
        { provider: "refused", outcome: "RateLimited", status: 429, seconds: 0, billed: "no" },
        { provider: "partly", outcome: "RateLimited", status: 429, seconds: 0, billed: "unknown" },
        { provider: "silent", outcome: "Timeout", seconds: 0, billed: "unknown" },
        { provider: "lost", outcome: "ConnectionLost", seconds: 0, billed: "unknown" },
        { provider: "nonsense", outcome: "BadResponse", status: 200, seconds: 0, billed: "unknown" },
        { provider: "broken", outcome: "BadResponse", status: 500, seconds: 0, billed: "no" },
        { provider: "away", outcome: "Unavailable", seconds: 0, billed: "no" }
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("records the attempt that a disconnecting caller interrupts", () =>
    Effect.gen(function* () {
      const attempts: Array<ProviderAttempt> = []
      const record = ({ attempts: made }: { readonly attempts: ReadonlyArray<ProviderAttempt> }) =>
        Effect.sync(() => void attempts.push(...made))
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(Effect.tap(routed({ a: Effect.never }), record)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      expect(attempts).toEqual([{ provider: "a", outcome: "Interrupted", seconds: 1, billed: "unknown" }])
      for (let at = 0; at < 5; at++) expect((yield* route({ a: Effect.succeed("up") })).answer).toBe("up")
    }).pipe(Effect.provide(layer))
  )

  it.effect("makes no attempt for a caller that disconnected before", () =>
    Effect.gen(function* () {
      const ended: Array<unknown> = []
      const record = ({ attempts, exit }: Router.Routed<string, Offer>) =>
        Effect.sync(() => void ended.push(attempts, Exit.hasInterrupts(exit)))
      const reserving = Effect.sleep("1 second")
      const work = Effect.andThen(reserving, routed({ a: Effect.die(new Error("never asked")) }))
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(Effect.tap(work, record)))
      yield* TestClock.adjust("500 millis")
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(interrupting)
      expect(ended).toEqual([[], true])
    }).pipe(Effect.provide(layer))
  )

  it.effect.each<readonly [string, ReadonlyArray<Reason>, string]>([
    ["a refusal before a timeout", [new RateLimited({}), new Timeout()], "RateLimited"],
    ["a timeout before a lost connection", [new Timeout(), new ConnectionLost()], "Timeout"],
    ["a timeout before a broken answer", [new Timeout(), new BadResponse({ description: "d" })], "Timeout"],
    [
      "a limit before a rejected credential",
      [new InputTooLarge({ message: "m" }), new Unauthorized({})],
      "InputTooLarge"
    ],
    ["a refusal before a limit", [new InputTooLarge({ message: "m" }), new Overloaded({})], "Overloaded"],
    ["invalid input before all", [new Overloaded({}), new InvalidRequest({ message: "m" })], "InvalidRequest"],
    [
      "a refusal before what one provider lacks",
      [new Overloaded({}), new InvalidRequest({ message: "m", othersMayAccept: true })],
      "Overloaded"
    ],
    ["the last one of equal rank", [new Unavailable({}), new OutOfCredit({})], "OutOfCredit"]
  ])("fails with the reason that helps the caller most: %s", ([, [first, second], expected]) =>
    Effect.gen(function* () {
      if (first === undefined || second === undefined) return expect.unreachable()
      const failure = yield* Effect.flip(route({ a: fail(first), b: fail(second) }))
      expect(failure).toMatchObject({ _tag: "AttemptsFailed", reason: { _tag: expected } })
    }).pipe(Effect.provide(layer))
  )

  it.effect("fails with the shortest wait of several refusals", () =>
    Effect.gen(function* () {
      const wait = (seconds: number) => fail(new RateLimited({ retryAfter: Duration.seconds(seconds) }))
      const failure = yield* Effect.flip(route({ a: wait(20), b: wait(5), c: wait(60) }))
      expect(failure).toMatchObject({ provider: "b" })
      expect(ProviderFailures.forRerank(failure, failure.attempts).retryAfter).toBe(5)
    }).pipe(Effect.provide(layer))
  )

  it.effect("fails with a refusal while another candidate's circuit is open", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(Effect.flip(route({ a: fail(new Unavailable({})) })), { times: 1 })
      const failure = yield* Effect.flip(route({ a: Effect.succeed("never asked"), b: fail(new RateLimited({})) }))
      expect(failure.attempts.map(({ outcome }) => outcome)).toEqual(["CircuitOpen", "RateLimited"])
      expect(ProviderFailures.forRerank(failure, failure.attempts).status).toBe(529)
    }).pipe(Effect.provide(layer))
  )

  it.effect("limits an attempt by the offer's own time limit, longer or shorter", () =>
    Effect.gen(function* () {
      for (const timeLimit of [Duration.seconds(2), Duration.seconds(7)]) {
        const offers = upstream.map((offer) => ({ ...offer, timeLimit }))
        const fiber = yield* Effect.forkChild(Effect.flip(call(offers, Effect.never)))
        yield* TestClock.adjust("7 seconds")
        expect((yield* Fiber.join(fiber)).attempts).toMatchObject([{ seconds: Duration.toSeconds(timeLimit) }])
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect.each<readonly [string, Reason]>([
    ["whose credential is rejected", new Unauthorized({})],
    ["whose account is out of credit", new OutOfCredit({})],
    ["that does not have the model", new UnknownModel({ model: "m" })]
  ])("opens the circuit of an offer %s", ([, reason]) =>
    Effect.gen(function* () {
      yield* Effect.repeat(Effect.flip(route({ a: fail(reason) })), { times: 1 })
      expect((yield* Effect.flip(route({ a: Effect.succeed("never asked") })))._tag).toBe("NoneUp")
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not fall back when the input itself is invalid", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        route({ a: fail(new InvalidRequest({ message: "too long" })), b: Effect.die(new Error("never asked")) })
      )
      expect(failure).toMatchObject({ _tag: "AttemptsFailed", provider: "a", reason: { _tag: "InvalidRequest" } })
    }).pipe(Effect.provide(layer))
  )

  it.effect("falls back when others may accept what one provider lacks, and opens no circuit", () =>
    Effect.gen(function* () {
      const lacking = fail(new InvalidRequest({ message: "no such language", othersMayAccept: true }))
      for (let i = 0; i < 5; i++) {
        expect((yield* route({ a: lacking, b: Effect.succeed("heard") })).answer).toBe("heard")
      }
      expect((yield* route({ a: Effect.succeed("up") })).answer).toBe("up")
    }).pipe(Effect.provide(layer))
  )

  it.effect("limits the time of each attempt and of all attempts together", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        Effect.flip(route({ a: Effect.never, b: Effect.never, c: Effect.succeed("late") }))
      )
      yield* TestClock.adjust("5 seconds")
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        _tag: "DeadlinePassed",
        provider: "b",
        attempts: [
          { provider: "a", outcome: "Timeout", seconds: 5 },
          { provider: "b", outcome: "Timeout", seconds: 3 }
        ]
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("opens the circuit after consecutive failures, and tries the candidate again later", () =>
    Effect.gen(function* () {
      let asked = 0
      const a = Effect.suspend(() => {
        asked++
        return fail(new Unavailable({}))
      })
      const once = Effect.flip(route({ a }))
      yield* once
      expect((yield* once)._tag).toBe("AttemptsFailed")
      const open = yield* once
      expect([open._tag, asked]).toEqual(["NoneUp", 2])
      if (open._tag === "NoneUp") expect(Duration.toSeconds(open.retryAfter)).toBe(10)
      const { attempts, candidate } = yield* route({ a, b: Effect.succeed("b") })
      expect([candidate.offer.provider, attempts.map(({ outcome }) => outcome), asked]).toEqual([
        "b",
        ["CircuitOpen", "Success"],
        2
      ])
      yield* TestClock.adjust("11 seconds")
      expect((yield* route({ a: Effect.succeed("well again") })).answer).toBe("well again")
      expect((yield* route({ a: Effect.succeed("still") })).answer).toBe("still")
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not count invalid input or a simulated status as a failure of the offer", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 5; i++) {
        yield* Effect.flip(route({ a: fail(new InvalidRequest({ message: "no" })) }))
        yield* Effect.flip(route({ a: fail(new Simulated({ status: 500 })) }))
      }
      expect((yield* route({ a: Effect.succeed("up") })).answer).toBe("up")
    }).pipe(Effect.provide(layer))
  )

  it.effect("says since when a circuit is open, also if another process has closed it meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* Layer.build(CircuitBreaker.layerStoreMemory())
      const settings = GatewayServerConfig.layer({ circuits: { failures: 2, openFor: Duration.seconds(10) } })
      const routerOf = Layer.build(
        Layer.fresh(Router.layer.pipe(Layer.provide(Layer.succeedContext(store)), Layer.provide(settings)))
      )
      const [own, other] = [yield* routerOf, yield* routerOf]
      const [candidate] = upstream.flatMap(Candidate.ofGateway)
      if (candidate === undefined) throw new Error("no candidate")
      const answer = (router: typeof own, result: Effect.Effect<string, ProviderError>) =>
        Effect.exit(Effect.provide(call(upstream, result), router))
      const openedAt = Effect.flatMap(Router.Router, ({ health }) => health(candidate)).pipe(
        Effect.map(({ known }) => known?.openedAt),
        Effect.provide(own)
      )
      const down = fail(new Unavailable({}))
      yield* answer(own, down)
      yield* answer(own, down)
      const first = yield* openedAt
      expect(first).toBeDefined()
      yield* TestClock.adjust("10 seconds")
      yield* answer(other, Effect.succeed("back"))
      yield* TestClock.adjust("1 hour")
      yield* answer(own, down)
      yield* answer(own, down)
      expect(yield* openedAt).toBe((first ?? 0) + 3_610_000)

      // The other process closes and opens it. This one cannot know since when.
      yield* TestClock.adjust("10 seconds")
      yield* answer(other, Effect.succeed("back"))
      expect(yield* openedAt).toBeUndefined()
      yield* answer(other, down)
      yield* answer(other, down)
      expect(yield* openedAt).toBeUndefined()
    })
  )

  it.effect("opens the circuit of an upstream that does not answer in time", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(timesOut(upstream), { times: 1 })
      expect((yield* Effect.flip(call(upstream, Effect.succeed("never asked"))))._tag).toBe("NoneUp")
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps a model of this process in service after requests that take it too long", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(timesOut(inProcess), { times: 4 })
      expect((yield* call(inProcess, Effect.succeed("for another caller"))).answer).toBe("for another caller")
    }).pipe(Effect.provide(layer))
  )

  it.effect("passes a defect on", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(route({ a: Effect.die(new Error("a bug")), b: Effect.succeed("b") }))
      expect(String(exit)).toContain("a bug")
    }).pipe(Effect.provide(layer))
  )
})

describe("Candidates", () => {
  const select = (
    preferences: Candidates.Allowed["preferences"],
    observed: Candidates.Ranking<RerankOffer>["observed"] = () => undefined
  ) => {
    const entry = answers(["a", "b", "c"], [3000, 1000, 2000])
    const quote = (offer: RerankOffer) => offer.quote({ query: "q", documents: [] })
    return Candidates.allowed(entry, { preferences, guardrail: null }).pipe(
      Effect.flatMap((offers) => Candidates.ranked(offers, { preferences, observed, quote })),
      Effect.map(namesOf)
    )
  }

  it.effect("keeps the catalog's order by default", () =>
    Effect.gen(function* () {
      expect(yield* select(undefined)).toEqual(["a", "b", "c"])
      expect(yield* select({ order: ["c", "x"] })).toEqual(["c", "a", "b"])
      expect(yield* select({ only: ["c", "a"] })).toEqual(["a", "c"])
      expect(yield* select({ ignore: ["a"] })).toEqual(["b", "c"])
      expect(yield* select({ sort: "price" })).toEqual(["b", "c", "a"])
      expect(yield* select({ sort: "price", order: ["a"] })).toEqual(["a", "b", "c"])
      expect(yield* select({ max_price: { search_unit: 0.002 } })).toEqual(["b", "c"])
      expect(yield* select({ allow_fallbacks: false, sort: "price" })).toEqual(["b"])
    })
  )

  it.effect("orders offers of one price by latency, and then as the operator does", () =>
    Effect.gen(function* () {
      const { offers } = answers(["a", "b", "c", "d"], [2000, 1000, 1000, 1000])
      const latencies: Readonly<Record<string, number>> = { a: 0.1, b: 3, c: 1, d: 3 }
      const ranked = yield* Candidates.ranked(offers, {
        preferences: { sort: "price" },
        observed: ({ offer }) => ({ latency: latencies[offer.provider] ?? 0, throughput: 1 }),
        quote: (offer) => offer.quote({ query: "q", documents: [] })
      })
      expect(namesOf(ranked)).toEqual(["c", "b", "d", "a"])
    })
  )

  it.effect("leaves out the offers without a credential, and fails with a 404 if none is left", () =>
    Effect.gen(function* () {
      const [first, ...kept] = answers(["a", "b"]).offers
      const ranking = { preferences: undefined, observed: () => undefined, quote: () => MicroCredits.zero }
      const without = { ...first, credential: undefined }
      expect(namesOf(yield* Candidates.ranked([without, ...kept], ranking))).toEqual(["b"])
      expect((yield* Effect.flip(Candidates.ranked([without], ranking))).status).toBe(404)
    })
  )

  it("compares each price of an offer with the caller's limit for its unit", () => {
    const priced = (pricing: RerankOffer["pricing"], max_price: typeof MaxPrice.Type) => {
      const { id, kind, offers } = answers(["a"])
      return Effect.runSyncExit(
        Candidates.allowed(
          { id, kind, offers: [{ ...offers[0], pricing }] },
          { preferences: { max_price }, guardrail: null }
        )
      )._tag
    }
    const tokens = { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 200_000 } as const
    expect(priced(tokens, { prompt: 0.05, completion: 0.2 })).toBe("Success")
    expect(priced(tokens, { prompt: 0.049 })).toBe("Failure")
    expect(priced(tokens, { prompt: 1, completion: 0.19 })).toBe("Failure")
    expect(priced(tokens, { search_unit: 0 })).toBe("Success")
    expect(priced({ unit: "search_unit", microCredits: 2000 }, { search_unit: 0.001 })).toBe("Failure")
  })

  it.effect("sorts by measurements, unmeasured candidates first", () =>
    Effect.gen(function* () {
      const figures: Readonly<Record<string, Candidates.Observed>> = {
        a: { latency: 1, throughput: 5 },
        c: { latency: 2, throughput: 9 }
      }
      const observed = ({ offer }: Candidate.Candidate) => figures[offer.provider]
      expect(yield* select({ sort: "latency" }, observed)).toEqual(["b", "a", "c"])
      expect(yield* select({ sort: "throughput" }, observed)).toEqual(["b", "c", "a"])
    })
  )
})

describe("ProviderFailures", () => {
  const failed = (reason: Reason): Router.RoutingFailure =>
    new Router.AttemptsFailed({ reason, provider: "p", isByok: false })

  const rerankError = (failure: Router.RoutingFailure) => ProviderFailures.forRerank(failure, [])
  const transcriptionError = (failure: Router.RoutingFailure) => ProviderFailures.forTranscription(failure, [])

  it("gives every reason its status", () => {
    const statuses = [
      [new InvalidRequest({ message: "m" }), 400],
      [new InputTooLarge({ message: "at most 100 documents" }), 413],
      [new UnknownModel({ model: "m" }), 502],
      [new Unauthorized({}), 502],
      [new OutOfCredit({}), 502],
      [new Unavailable({}), 502],
      [new BadResponse({ description: "d" }), 502],
      [new RateLimited({}), 529],
      [new Overloaded({}), 529],
      [new Timeout({}), 524],
      [new ConnectionLost({}), 502]
    ] as const
    for (const [reason, status] of statuses) {
      expect([reason._tag, rerankError(failed(reason)).status]).toEqual([reason._tag, status])
    }
    for (const status of simulatedStatuses) {
      expect(transcriptionError(failed(new Simulated({ status }))).status).toBe(status)
    }
    const none = new Router.NoneUp({ retryAfter: Duration.millis(2500) })
    expect([rerankError(none).status, rerankError(none).retryAfter]).toEqual([503, 3])
    const late = new Router.DeadlinePassed({ provider: "p" })
    expect([rerankError(late).status, transcriptionError(late).status]).toEqual([524, 504])
  })

  it("restricts a simulated status to the statuses of the operation", () => {
    const of = (status: (typeof simulatedStatuses)[number]) =>
      ProviderFailures.forSimulated<VideoRefusal>(submitVideoOperation.error, new Simulated({ status }))
    expect(simulatedStatuses.map((status) => of(status).status)).toEqual([
      400, 401, 402, 403, 404, 413, 429, 500, 500, 500, 500, 500, 500
    ])
    expect(of(402).message).toBe("insufficient credits (simulated)")
    expect(of(400).issues).toEqual([{ path: "model", message: "simulated" }])
  })

  it("reveals nothing of a provider's response", () => {
    const error = rerankError(failed(new BadResponse({ description: "secret answer" })))
    expect(JSON.stringify(error.error)).not.toContain("secret answer")
  })
})

const kinds: ReadonlyArray<Kind> = ["rerank", "transcription", "video"]

describe("ModelCatalog", () => {
  it("groups the offers of a model, and separates kinds", () => {
    const candidates = candidatesOf("a", "b")
    expect(namesOf(candidates)).toEqual(["a", "b"])
    expect(candidates.map(Candidate.keyOf)).toEqual(["rerank a test/rank gateway", "rerank b test/rank gateway"])
    const catalog = ModelCatalog.make(scripted({ name: "a", rerank: () => Effect.never }))
    expect(catalog.kindsOf("test/rank")).toEqual(kinds.slice(0, 1))
    expect(catalog.transcription("test/rank")).toBeUndefined()
  })
})
