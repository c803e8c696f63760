import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { createSocket } from "node:dgram"
import type { LookupAddress } from "node:dns"
import * as HostNames from "../../src/outbound/HostNames.ts"

/** The types of records that are asked for. */
const types = new Map([
  [1, "A"],
  [28, "AAAA"]
])

/** What a name server answers: records with a TTL, an error code, or nothing. */
type Answer = { readonly ttl: number; readonly data: ReadonlyArray<number> } | { readonly code: number } | undefined

/** The answer to a query of one question (RFC 1035). */
const reply = (query: Buffer, answer: Exclude<Answer, undefined>): Buffer => {
  // After the header of 12 bytes: labels up to an empty one, type and class.
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | ("code" in answer ? answer.code : 0), 2)
  header.writeUInt16BE(1, 4)
  if ("code" in answer) return Buffer.concat([header, question])
  header.writeUInt16BE(1, 6)
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0)
  question.copy(record, 2, question.length - 4)
  record.writeUInt32BE(answer.ttl, 6)
  record.writeUInt16BE(answer.data.length, 10)
  return Buffer.concat([header, question, record, Buffer.from(answer.data)])
}

/** A name server on this machine, until the test ends. It lists the types that it was asked for. */
const nameServer = Effect.fnUntraced(function* (answers: { readonly A?: Answer; readonly AAAA?: Answer }) {
  const asked: Array<string> = []
  const both = yield* Deferred.make<void>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createSocket>>((resume) => {
      const socket = createSocket("udp4")
      socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.callback<void>((resume) => void socket.close(() => resume(Effect.void)))
  )
  socket.on("message", (query, { address, port }) => {
    const type = types.get(query.readUInt16BE(query.indexOf(0, 12) + 1)) ?? "another"
    asked.push(type)
    if (asked.includes("A") && asked.includes("AAAA")) Deferred.doneUnsafe(both, Effect.void)
    const answer = type === "A" ? answers.A : type === "AAAA" ? answers.AAAA : undefined
    if (answer !== undefined) socket.send(reply(query, answer), port, address)
  })
  return { servers: [`127.0.0.1:${socket.address().port}`], askedForBoth: Deferred.await(both) }
})

const ipv4 = { ttl: 7, data: [192, 88, 98, 1] }
const ipv6 = { ttl: 9, data: [0x26, 6, 0x47, 0, ...Array.from({ length: 11 }, () => 0), 1] }
const found = [
  { address: "192.88.98.1", family: 4, ttl: 7 },
  { address: "2606:4700::1", family: 6, ttl: 9 }
]

it.live("asks for both families, IPv4 first, and one is enough", () =>
  Effect.gen(function* () {
    const missing = { code: 3 }
    for (const [answers, expected] of [
      [{ A: ipv4, AAAA: ipv6 }, found],
      [{ A: ipv4, AAAA: missing }, found.slice(0, 1)],
      [{ A: missing, AAAA: ipv6 }, found.slice(1)]
    ] as const) {
      const { servers } = yield* nameServer(answers)
      expect(yield* HostNames.fromNameServers(servers)("hooks.example")).toEqual(expected)
    }
    const { servers } = yield* nameServer({ A: missing, AAAA: missing })
    expect(yield* Effect.flip(HostNames.fromNameServers(servers)("hooks.example"))).toMatchObject({ code: "ENOTFOUND" })
  }).pipe(Effect.scoped)
)

it.effect("waits 5 seconds for a silent name server, and then uses the family that was answered", () =>
  Effect.gen(function* () {
    const other = yield* nameServer({ A: ipv4, AAAA: ipv6 })
    for (const [answers, expected] of [
      [{}, { code: "EAI_AGAIN" }],
      [{ A: ipv4 }, found.slice(0, 1)],
      [{ AAAA: { code: 3 } }, { code: "EAI_AGAIN" }]
    ] as const) {
      const { askedForBoth, servers } = yield* nameServer(answers)
      const fiber = yield* Effect.forkChild(
        Effect.match(HostNames.fromNameServers(servers)("hooks.example"), {
          onFailure: (error): unknown => error,
          onSuccess: (all): unknown => all
        })
      )
      yield* askedForBoth
      // The answer to the other family has arrived before those to later questions.
      for (let later = 0; later < 2; later++) yield* HostNames.fromNameServers(other.servers)("later.example")
      yield* TestClock.adjust("4999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject(expected)
    }
  }).pipe(Effect.scoped)
)

const address = (ttl?: number): HostNames.Found => ({ address: "192.88.98.1", family: 4, ttl })

/** Names that are asked by this look-up, and how often each was. */
const asked = (lookUp: HostNames.LookUp) => {
  const names: Array<string> = []
  const counted: HostNames.LookUp = (name) =>
    Effect.andThen(
      Effect.sync(() => names.push(name)),
      lookUp(name)
    )
  return { names, lookUp: counted }
}

it.effect("asks for a name once at a time, and keeps the answer for its TTL: 1 to 60 seconds", () =>
  Effect.gen(function* () {
    for (const [ttl, seconds] of [
      [0, 1],
      [30, 30],
      [86_400, 60]
    ] as const) {
      const { lookUp, names } = asked(() => Effect.as(Effect.sleep("1 second"), [address(ttl), address(ttl + 1)]))
      const { addressesOf } = yield* HostNames.shared([]).pipe(Effect.provideService(HostNames.NameServers, lookUp))
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(addressesOf("a.example")))
      yield* TestClock.adjust("1 second")
      for (const fiber of fibers) expect(yield* Fiber.join(fiber)).toHaveLength(2)
      yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
      yield* addressesOf("a.example")
      expect(names).toEqual(["a.example"])
      yield* TestClock.adjust("1 millis")
      const again = yield* Effect.forkChild(addressesOf("a.example"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(again)
      expect(names).toEqual(["a.example", "a.example"])
    }
  })
)

it.effect("does not ask again for 5 seconds if a name has no address", () =>
  Effect.gen(function* () {
    const { lookUp, names } = asked(() => Effect.fail(new HostNames.NameError({ code: "EAI_AGAIN" })))
    const { addressesOf } = yield* HostNames.shared([]).pipe(Effect.provideService(HostNames.NameServers, lookUp))
    for (const [millis, times] of [
      [0, 1],
      [4999, 1],
      [1, 2]
    ] as const) {
      yield* TestClock.adjust(`${millis} millis`)
      expect(Exit.isFailure(yield* Effect.exit(addressesOf("a.example")))).toBe(true)
      expect(names).toHaveLength(times)
    }
  })
)

it.effect("looks up 8 names of an owner at a time, and delays no other owner, also not for the same name", () =>
  Effect.gen(function* () {
    const { lookUp, names } = asked((name) => (name.startsWith("silent") ? Effect.never : Effect.succeed([address()])))
    const { addressesOf } = yield* HostNames.shared([]).pipe(Effect.provideService(HostNames.NameServers, lookUp))
    const asking = (owner: string, name: string) => Effect.provideService(addressesOf(name), HostNames.Owner, owner)
    const silent = yield* Effect.forEach(Array.from({ length: 20 }).keys(), (at) =>
      Effect.forkChild(asking("a", `silent${at}.example`))
    )
    const queued = yield* Effect.forkChild(asking("a", "common.example"))
    yield* Effect.yieldNow
    expect(names).toHaveLength(8)
    expect(yield* asking("b", "common.example")).toEqual([address()])
    expect(names).toHaveLength(9)
    expect(queued.pollUnsafe()).toBeUndefined()
    // A known name needs no place.
    expect(yield* asking("a", "common.example")).toEqual([address()])
    yield* Fiber.interruptAll(silent)
    expect(yield* Fiber.join(queued)).toEqual([address()])
  })
)

it.effect("looks up 64 names of all owners at a time", () =>
  Effect.gen(function* () {
    const { lookUp, names } = asked(() => Effect.never)
    const { addressesOf } = yield* HostNames.shared([]).pipe(Effect.provideService(HostNames.NameServers, lookUp))
    for (let at = 0; at < 100; at++) {
      yield* Effect.forkChild(Effect.provideService(addressesOf(`${at}.example`), HostNames.Owner, `owner ${at % 20}`))
    }
    yield* Effect.yieldNow
    expect(names).toHaveLength(64)
  })
)

it.effect("asks the operating system for a name once at a time, and for no more names than it may", () =>
  Effect.gen(function* () {
    const { lookUp, names } = asked(() => Effect.as(Effect.sleep("1 second"), [address()]))
    const { addressesOf } = yield* HostNames.system({ maxLookUps: 1 }).pipe(
      Effect.provideService(HostNames.System, lookUp)
    )
    const fibers = yield* Effect.forEach(["a", "a", "b", "a"], (name) => Effect.forkChild(addressesOf(name)))
    yield* Effect.yieldNow
    expect(names).toEqual(["a"])
    yield* TestClock.adjust("1 second")
    expect(names).toEqual(["a", "b"])
    yield* TestClock.adjust("1 second")
    for (const fiber of fibers) expect(yield* Fiber.join(fiber)).toEqual([address()])
    yield* TestClock.adjust("27 seconds")
    yield* addressesOf("b")
    expect(names).toEqual(["a", "b"])
  })
)

it.live("answers connections with one address or with all, and with the error", () =>
  Effect.gen(function* () {
    const all = [address(), { address: "2606:4700::1", family: 6 }]
    const lookup = yield* HostNames.toLookup((name) =>
      name === "none" ? Effect.succeed([]) : name === "a" ? Effect.succeed(all) : Effect.die("a defect")
    )
    const ask = (name: string, everything: boolean) =>
      Effect.callback<readonly [string | undefined, string | ReadonlyArray<LookupAddress>, number | undefined]>(
        (resume) =>
          lookup(name, { all: everything }, (error, answer, family) =>
            resume(Effect.succeed([error === null ? undefined : error.message, answer, family]))
          )
      )
    expect(yield* ask("a", true)).toEqual([undefined, all, undefined])
    expect(yield* ask("a", false)).toEqual([undefined, "192.88.98.1", 4])
    expect((yield* ask("none", true))[0]).toBe("The host does not exist")
    expect((yield* ask("broken", true))[0]).toBe("The host's name servers did not answer")
  })
)
