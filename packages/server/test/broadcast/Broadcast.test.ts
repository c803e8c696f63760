/** Delivery over a client in process, with the TestClock. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Metric, Redacted, Scope } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql/SqlClient"
import { Vault } from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as Scrape from "../../src/observability/Scrape.ts"
import * as Broadcast from "../../src/broadcast/Broadcast.ts"
import type { Options } from "../../src/broadcast/Destination.ts"
import * as DestinationStore from "../../src/broadcast/DestinationStore.ts"
import { Outbox } from "../../src/events/Outbox.ts"
import * as HostNames from "../../src/outbound/HostNames.ts"
import { OutboundHttp } from "../../src/outbound/OutboundHttp.ts"
import * as FailureLog from "../../src/observability/FailureLog.ts"
import { layerAt, temporaryFolder } from "../TestStorage.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import { decode } from "./otlp.ts"
import { event, options } from "./TestEvent.ts"

/** A request that a destination got: its host, for whom the host is looked up, and its events. */
interface Got {
  readonly host: string
  readonly owner: string
  readonly ids: ReadonlyArray<string>
}

type Answer = number | { readonly status: number; readonly retryAfter: string } | "silence" | "broken"

/** Answers each request by its host and events. */
type Destinations = (got: Got) => Answer

const idsOf = ({ body, headers }: HttpClientRequest.HttpClientRequest): ReadonlyArray<string> => {
  const id = headers["webhook-id"]
  if (id !== undefined) return [id]
  if (body._tag !== "Uint8Array") throw new Error("not bytes")
  return decode(body.body).flatMap(({ attributes }) => {
    const id = attributes["model_gateway.event.id"]
    return typeof id === "string" ? [id] : []
  })
}

const clientOf = (got: Array<Got>, answer: Destinations) =>
  HttpClient.make((request, url) =>
    Effect.flatMap(HostNames.Owner, (owner) => {
      const one = { host: url.host, owner, ids: idsOf(request) }
      got.push(one)
      const answered = answer(one)
      if (answered === "silence") return Effect.never
      if (answered === "broken") {
        const cause = new Error("connect ECONNREFUSED")
        return Effect.fail(
          new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
        )
      }
      const [status, headers] =
        typeof answered === "number" ? [answered, {}] : [answered.status, { "retry-after": answered.retryAfter }]
      return Effect.succeed(
        HttpClientResponse.fromWeb(request, new Response(status === 204 ? null : "ok", { status, headers }))
      )
    })
  )

/**
 * A vault that does not encrypt: encryption takes real time, which the TestClock does not wait for.
 */
const openVault = Layer.succeed(
  Vault,
  Vault.of({
    seal: (secret) => Effect.succeed({ masterKeyId: "none", dataKey: "none", secret: Redacted.value(secret) }),
    open: ({ secret }) => Effect.succeed(Redacted.make(secret)),
    rewrap: () => Effect.succeed(undefined)
  })
)

/** The stores over a file, as one process has them. */
const stores = (file: string, heartbeat?: Parameters<typeof layerAt>[1]) =>
  DestinationStore.layerSql.pipe(Layer.provide(openVault), Layer.provideMerge(layerAt(file, heartbeat)))

/** Sends events to the destinations while the scope is open. */
const running = (got: Array<Got>, answer: Destinations, settings?: Broadcast.Options) =>
  Layer.build(
    Broadcast.layerBackground(settings).pipe(
      Layer.provide([Layer.succeed(OutboundHttp, clientOf(got, answer)), Scrape.layer])
    )
  )

const workspace = Effect.gen(function* () {
  return yield* (yield* WorkspaceStore).ensureDefault()
})

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLawM"

const add = Effect.fnUntraced(function* (
  host: string,
  type: "webhook" | "otel-collector",
  change: Partial<Options> = {}
) {
  const { id: workspaceId, organizationId } = yield* workspace
  return yield* (yield* DestinationStore.DestinationStore).create({
    organizationId,
    workspaceId,
    name: host,
    type,
    enabled: true,
    options: options({ url: `https://${host}/`, ...change }),
    secrets: Redacted.make({ headers: {}, signing_secret: secret })
  })
})

const write = Effect.fnUntraced(function* (...ids: ReadonlyArray<string>) {
  const outbox = yield* Outbox
  const sql = yield* SqlClient
  const { id: workspace_id } = yield* workspace
  for (const id of ids) {
    const { created_at: _, duration_ms: __, ...one } = event({ id, workspace_id })
    yield* sql.withTransaction(outbox.write(one))
  }
})

/** Writes the text of an event, as a broken program may have left it. */
const writeText = Effect.fnUntraced(function* (body: object | string) {
  const sql = yield* SqlClient
  const text = typeof body === "string" ? body : JSON.stringify(body)
  yield* sql`INSERT INTO events (created_at, body) VALUES (0, ${text})`
})

/** Lets the fibers do what they have to do now, over the real database. */
const settle = (duration: Parameters<typeof TestClock.adjust>[0]) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(duration)
    for (let i = 0; i < 200; i++) yield* Effect.yieldNow
  })

const seconds = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => settle("1 second"), { discard: true })

const of = (got: ReadonlyArray<Got>, host: string) => got.filter((one) => one.host === host).flatMap(({ ids }) => ids)

const onDisk = <A, E>(use: (file: string) => Effect.Effect<A, E, never>) =>
  Effect.flatMap(temporaryFolder, (folder) => use(`${folder}/gateway.db`))

/** Runs over a new database, with a clock of its own. */
const withStores = <A, E>(effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof stores>> | Scope.Scope>) =>
  onDisk((file) => Effect.scoped(effect).pipe(Effect.provide(stores(file))))

const count = (destination: string, outcome: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const found = metrics.find(
      ({ attributes, id }) =>
        id === "model_gateway_broadcast_events_total" &&
        attributes?.["destination"] === destination &&
        attributes["outcome"] === outcome
    )
    return found !== undefined && "count" in found.state ? Number(found.state.count) : 0
  })

describe("events", () => {
  it.effect("go to the destinations of their workspace, from its creation on, in batches or one by one", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* TestOutbox.broadcast(yield* workspace)
        yield* write("evt_old")
        yield* add("otel.example", "otel-collector")
        yield* add("hook.example", "webhook")
        yield* write("evt_1", "evt_2")
        yield* running(got, () => 200)
        yield* seconds(2)
        expect(of(got, "otel.example")).toEqual(["evt_1", "evt_2"])
        expect(of(got, "hook.example").toSorted()).toEqual(["evt_1", "evt_2"])
        expect(got.filter(({ host }) => host === "otel.example")).toHaveLength(1)
        expect(new Set(got.map(({ owner }) => owner))).toEqual(new Set([(yield* workspace).id]))
        yield* write("evt_3")
        yield* add("late.example", "webhook")
        yield* write("evt_4")
        yield* seconds(3)
        expect(of(got, "late.example")).toEqual(["evt_4"])
        expect(of(got, "otel.example")).toEqual(["evt_1", "evt_2", "evt_3", "evt_4"])
      })
    )
  )

  it.effect("leave at their destination when it accepted one last, what waits, what was dropped and why", () =>
    withStores(
      Effect.gen(function* () {
        const store = yield* DestinationStore.DestinationStore
        const { organizationId } = yield* workspace
        const answers: Array<Answer> = [200]
        yield* TestClock.adjust("1 minute")
        const { id } = yield* add("hook.example", "webhook")
        const delivery = Effect.map(store.get(organizationId, id), (destination) => destination.delivery)
        const fresh = { deliveredAt: null, waitingSince: null, dropped: 0, error: null, errorAt: null }
        expect(yield* delivery).toEqual(fresh)
        yield* running([], () => answers.at(-1) ?? 200)
        yield* write("evt_1")
        yield* seconds(2)
        const { deliveredAt } = yield* delivery
        expect(deliveredAt).toBeGreaterThan(0)

        answers.push(503)
        const written = yield* Clock.currentTimeMillis
        yield* write("evt_2")
        yield* seconds(3)
        const failing = yield* delivery
        expect(failing).toMatchObject({ deliveredAt, waitingSince: written, dropped: 0, error: "status 503" })
        expect(failing.errorAt).toBeGreaterThanOrEqual(written)

        answers.push(400)
        yield* seconds(10)
        expect(yield* delivery).toMatchObject({ deliveredAt, waitingSince: null, dropped: 1, error: "status 400" })

        answers.push(200)
        yield* write("evt_3")
        yield* writeText({ ...event({ id: "evt_4", workspace_id: (yield* workspace).id }), created_at: "never" })
        yield* seconds(3)
        const again = yield* delivery
        expect(again).toMatchObject({ waitingSince: null, dropped: 2, error: "status 400" })
        expect(again.deliveredAt).toBeGreaterThan(deliveredAt ?? 0)
      })
    )
  )

  it.effect("that are old when they are sent wait for their destination meanwhile", () =>
    withStores(
      Effect.gen(function* () {
        const store = yield* DestinationStore.DestinationStore
        const { organizationId } = yield* workspace
        const { id } = yield* add("hook.example", "webhook")
        const written = yield* Clock.currentTimeMillis
        yield* write("evt_1")
        yield* seconds(20)
        yield* running([], () => "silence")
        yield* seconds(2)
        const { delivery } = yield* store.get(organizationId, id)
        expect(delivery).toMatchObject({ waitingSince: written, error: null })
        // Nothing waits for a destination that is switched off.
        const off = yield* store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled: false }))
        expect(off.delivery.waitingSince).toBeNull()
        expect((yield* store.get(organizationId, id)).delivery.waitingSince).toBeNull()
      })
    )
  )

  it.effect("of another workspace, of other keys, or that a rule excludes are not sent", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* add("all.example", "webhook")
        yield* add("key.example", "webhook", { api_key_hashes: ["other"] })
        const rules = [{ field: "model", operator: "starts_with", value: "jina/" }] as const
        yield* add("rule.example", "webhook", { filter_rules: { groups: [{ rules }] } })
        const { organizationId } = yield* workspace
        const another = yield* (yield* WorkspaceStore).create(organizationId, { name: "another", slug: "another" })
        yield* TestOutbox.broadcast(another)
        const { created_at: _, duration_ms: __, ...foreign } = event({ id: "evt_foreign", workspace_id: another.id })
        yield* (yield* SqlClient).withTransaction((yield* Outbox).write(foreign))
        yield* write("evt_1")
        yield* running(got, () => 200)
        yield* seconds(2)
        expect(got).toMatchObject([{ host: "all.example", ids: ["evt_1"] }])
      })
    )
  )

  it.effect("are sent again with growing waits until they are accepted, and not lost", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const answers: Array<Answer> = [503, "broken", 429, 401, 302]
        yield* add("hook.example", "webhook")
        yield* write("evt_1")
        const before = yield* count("webhook", "retried")
        yield* running(got, () => answers.shift() ?? 204)
        yield* seconds(2)
        expect(of(got, "hook.example").length).toBeLessThan(4)
        yield* seconds(60)
        expect(of(got, "hook.example")).toEqual(Array.from({ length: 6 }, () => "evt_1"))
        expect((yield* count("webhook", "retried")) - before).toBe(5)
        yield* write("evt_2")
        yield* seconds(2)
        expect(of(got, "hook.example").at(-1)).toBe("evt_2")
      })
    )
  )

  it.effect("are sent no sooner than the destination asks for", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const answers: Array<Answer> = [{ status: 429, retryAfter: "30" }]
        yield* add("hook.example", "webhook")
        yield* write("evt_1")
        yield* running(got, () => answers.shift() ?? 200)
        yield* seconds(29)
        expect(got).toHaveLength(1)
        yield* seconds(3)
        expect(got).toHaveLength(2)
      })
    )
  )

  it.effect("reach one destination while another one is silent", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* add("silent.example", "webhook")
        yield* add("hook.example", "webhook")
        yield* write("evt_1")
        yield* running(got, ({ host }) => (host === "silent.example" ? "silence" : 200))
        yield* seconds(2)
        yield* write("evt_2")
        yield* seconds(2)
        expect(of(got, "hook.example")).toEqual(["evt_1", "evt_2"])
        expect(of(got, "silent.example")).toEqual(["evt_1"])
        // It has 15 seconds for an answer, and is then asked again.
        yield* seconds(20)
        expect(of(got, "silent.example")).toEqual(["evt_1", "evt_1"])
      })
    )
  )

  it.effect("that a destination rejects are dropped and counted, and do not delay the others", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const before = [yield* count("otel-collector", "dropped"), yield* count("otel-collector", "delivered")] as const
        yield* add("otel.example", "otel-collector")
        yield* write("evt_1", "evt_2", "evt_bad", "evt_3", "evt_4")
        yield* running(got, ({ ids }) => (ids.includes("evt_bad") ? 400 : 200))
        yield* seconds(2)
        const accepted = got.filter(({ ids }) => !ids.includes("evt_bad")).flatMap(({ ids }) => ids)
        expect(accepted).toEqual(["evt_1", "evt_2", "evt_3", "evt_4"])
        expect((yield* count("otel-collector", "dropped")) - before[0]).toBe(1)
        expect((yield* count("otel-collector", "delivered")) - before[1]).toBe(4)
      })
    )
  )

  it.effect("that a destination fails on are dropped after ten tries", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* add("hook.example", "webhook")
        yield* write("evt_bad", "evt_1")
        yield* running(got, ({ ids }) => (ids.includes("evt_bad") ? 500 : 200))
        for (let minute = 0; minute < 40; minute++) yield* settle("1 minute")
        expect(of(got, "hook.example").filter((id) => id === "evt_bad")).toHaveLength(10)
        yield* write("evt_2")
        yield* seconds(2)
        expect(of(got, "hook.example").at(-1)).toBe("evt_2")
      })
    )
  )

  it.effect("are dropped and counted after the retry window, and newer ones are tried", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const before = yield* count("webhook", "dropped")
        let isUp = false
        yield* add("hook.example", "webhook")
        yield* write("evt_1")
        yield* running(got, () => (isUp ? 200 : 503), { window: "1 hour" })
        for (let minute = 0; minute < 50; minute++) yield* settle("1 minute")
        yield* write("evt_2")
        for (let minute = 0; minute < 20; minute++) yield* settle("1 minute")
        expect((yield* count("webhook", "dropped")) - before).toBe(1)
        isUp = true
        for (let minute = 0; minute < 6; minute++) yield* settle("1 minute")
        expect(of(got, "hook.example").at(-1)).toBe("evt_2")
        expect((yield* count("webhook", "dropped")) - before).toBe(1)
      })
    )
  )
})

describe("an event", () => {
  const kinds = ["webhook", "otel-collector"] as const

  it.effect(
    "that cannot be read is counted and named once, and the events behind it are sent, also after a restart",
    () =>
      onDisk((file) =>
        Effect.gen(function* () {
          const got: Array<Got> = []
          const messages: Array<string> = []
          const before = yield* Effect.forEach(kinds, (kind) => count(kind, "set_aside"))
          const log = FailureLog.FailureLog.of({
            report: ({ message }) => Effect.sync(() => void messages.push(message))
          })
          yield* Effect.gen(function* () {
            const { id: workspace_id } = yield* workspace
            yield* add("hook.example", "webhook")
            yield* add("otel.example", "otel-collector")
            yield* write("evt_1")
            const names = Object.fromEntries(Array.from({ length: 6 }, (_, n) => ["n".repeat(1_000_000 + n), 1]))
            yield* writeText(event({ id: "evt_huge", workspace_id, trace: names }))
            yield* writeText({ ...event({ id: "evt_odd" }), workspace_id, usage: { total_tokens: "secret text" } })
            yield* write("evt_2")
            yield* running(got, () => 200)
            yield* seconds(5)
          }).pipe(Effect.scoped, Effect.provide(stores(file)), Effect.provideService(FailureLog.FailureLog, log))
          for (const host of ["hook.example", "otel.example"]) expect(of(got, host)).toEqual(["evt_1", "evt_2"])
          const after = yield* Effect.forEach(kinds, (kind) => count(kind, "set_aside"))
          expect(after.map((total, n) => total - (before[n] ?? 0))).toEqual([2, 2])
          expect(messages.toSorted()).toEqual(
            kinds
              .flatMap(() => [
                "Broadcast cannot send event 2 of the outbox and continues with the next event: it is larger than 256 KiB.",
                "Broadcast cannot send event 3 of the outbox and continues with the next event: it is not a valid event."
              ])
              .toSorted()
          )
          yield* Effect.gen(function* () {
            yield* write("evt_3")
            yield* running(got, () => 200)
            yield* seconds(3)
          }).pipe(Effect.scoped, Effect.provide(stores(file)))
          for (const host of ["hook.example", "otel.example"])
            expect(of(got, host)).toEqual(["evt_1", "evt_2", "evt_3"])
          expect(yield* Effect.forEach(kinds, (kind) => count(kind, "set_aside"))).toEqual(after)
        })
      )
  )

  it.effect("that has no form that can be sent is set aside, and the others of its part are sent", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const before = yield* count("webhook", "set_aside")
        const { id: workspace_id } = yield* workspace
        yield* add("hook.example", "webhook")
        yield* write("evt_1")
        yield* writeText(event({ id: "evt_far", workspace_id, created_at: 8_640_000_000_000_001 }))
        yield* write("evt_2")
        yield* running(got, () => 200)
        yield* seconds(3)
        expect(of(got, "hook.example").toSorted()).toEqual(["evt_1", "evt_2"])
        expect((yield* count("webhook", "set_aside")) - before).toBe(1)
      })
    )
  )

  it.effect("with numbers that OTLP has no integer for is sent", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const { id: workspace_id } = yield* workspace
        yield* add("otel.example", "otel-collector")
        yield* writeText(event({ id: "evt_1", workspace_id, usage: { total_tokens: 1e300 } }))
        yield* writeText(event({ id: "evt_2", workspace_id, trace: { tenant: -1e300, big: 2 ** 64 } }))
        yield* running(got, () => 200)
        yield* seconds(2)
        expect(of(got, "otel.example")).toEqual(["evt_1", "evt_2"])
      })
    )
  )
})

describe("a destination", () => {
  it.effect("gets a backlog of large events in requests of bounded size", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const { id: workspace_id } = yield* workspace
        yield* add("otel.example", "otel-collector")
        const ids = Array.from({ length: 30 }, (_, n) => `evt_${n}`)
        const trace = Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`k${n}`, "a".repeat(8000)]))
        for (const id of ids) yield* writeText(event({ id, workspace_id, trace }))
        yield* running(got, () => 200)
        yield* seconds(5)
        expect(of(got, "otel.example")).toEqual(ids)
        // About 55 KiB each, and at most 512 KiB together.
        expect(got.map(({ ids }) => ids.length)).toEqual([9, 9, 9, 3])
      })
    )
  )

  it.effect("that is silent gets growing pauses between a few events, and not each event of a backlog", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* add("silent.example", "webhook")
        const ids = Array.from({ length: 60 }, (_, n) => `evt_${n}`)
        yield* write(...ids)
        let isUp = false
        yield* running(got, () => (isUp ? 200 : "silence"))
        for (let step = 0; step < 60; step++) yield* settle("5 seconds")
        // Without a pause, there would be 8 in each 15 of these 300 seconds.
        expect(got.length).toBeLessThanOrEqual(80)
        isUp = true
        for (let step = 0; step < 60; step++) yield* settle("5 seconds")
        expect(new Set(of(got, "silent.example"))).toEqual(new Set(ids))
      })
    )
  )

  it.effect("continues after a restart where it was, with what was not accepted yet", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const got: Array<Got> = []
        yield* Effect.gen(function* () {
          yield* add("hook.example", "webhook")
          yield* write("evt_1")
          yield* running(got, ({ ids }) => (ids.includes("evt_1") ? 200 : 503))
          yield* seconds(2)
          yield* write("evt_2")
          yield* seconds(2)
        }).pipe(Effect.scoped, Effect.provide(stores(file)))
        expect(new Set(of(got, "hook.example"))).toEqual(new Set(["evt_1", "evt_2"]))
        got.length = 0
        yield* Effect.gen(function* () {
          yield* write("evt_3")
          yield* running(got, () => 200)
          yield* seconds(3)
        }).pipe(Effect.scoped, Effect.provide(stores(file)))
        expect(of(got, "hook.example").toSorted()).toEqual(["evt_2", "evt_3"])
      })
    )
  )

  it.effect("is served by one of two processes, and by the other one when that one ends", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        /** A process, which ends when its scope closes, and what its destinations got. */
        const process = Effect.gen(function* () {
          const got: Array<Got> = []
          const scope = yield* Scope.make()
          const context = yield* Layer.buildWithScope(stores(file), scope)
          const start = Effect.provide(
            Scope.provide(
              running(got, () => 200),
              scope
            ),
            context
          )
          return { got, start, context, end: Scope.close(scope, Exit.void) }
        })
        const first = yield* process
        const second = yield* process
        yield* Effect.provide(add("hook.example", "webhook"), second.context)
        yield* first.start
        yield* seconds(2)
        yield* second.start
        yield* Effect.provide(write("evt_1"), second.context)
        yield* seconds(3)
        yield* first.end
        yield* Effect.provide(write("evt_2"), second.context)
        yield* seconds(3)
        yield* second.end
        expect([of(first.got, "hook.example"), of(second.got, "hook.example")]).toEqual([["evt_1"], ["evt_2"]])
      })
    )
  )

  it.effect("is taken over within 10 seconds from a process that hangs", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const got: Array<Got> = []
        const sql = yield* SqlClient
        const { id } = yield* add("hook.example", "webhook")
        yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES ('proc_hanging', 0, 0)`
        yield* sql`UPDATE destinations SET process_id = 'proc_hanging' WHERE id = ${id}`
        yield* write("evt_1")
        yield* running(got, () => 200)
        yield* seconds(6)
        expect(of(got, "hook.example")).toEqual([])
        yield* seconds(4)
        expect(of(got, "hook.example")).toEqual(["evt_1"])
      }).pipe(Effect.scoped, Effect.provide(stores(file, {})))
    )
  )

  it.effect("that is disabled gets nothing, and no old events when it is enabled again", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const store = yield* DestinationStore.DestinationStore
        const { id, organizationId } = yield* add("hook.example", "webhook")
        // So that the events are written.
        yield* add("other.example", "webhook")
        yield* running(got, () => 200)
        yield* seconds(2)
        yield* store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled: false }))
        yield* seconds(2)
        yield* write("evt_1")
        yield* seconds(2)
        yield* store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled: true }))
        yield* write("evt_2")
        yield* seconds(3)
        expect(of(got, "hook.example")).toEqual(["evt_2"])
        yield* store.remove(organizationId, id)
        yield* seconds(2)
        yield* write("evt_3")
        yield* seconds(3)
        expect(of(got, "hook.example")).toEqual(["evt_2"])
        expect(of(got, "other.example")).toEqual(["evt_1", "evt_2", "evt_3"])
      })
    )
  )

  it.effect("whose configuration was corrected is tried at once", () =>
    withStores(
      Effect.gen(function* () {
        const got: Array<Got> = []
        const store = yield* DestinationStore.DestinationStore
        const { id, organizationId } = yield* add("wrong.example", "webhook")
        yield* write("evt_1")
        yield* running(got, ({ host }) => (host === "right.example" ? 200 : 404))
        for (let minute = 0; minute < 30; minute++) yield* settle("1 minute")
        const corrected = options({ url: "https://right.example/" })
        yield* store.update(organizationId, id, (present) => Effect.succeed({ ...present, options: corrected }))
        yield* seconds(3)
        expect(of(got, "right.example")).toEqual(["evt_1"])
      })
    )
  )
})
