/** Alerts over the whole service, with a real receiver. */
import * as Alerts from "@model-gateway/core/Alerts"
import * as Webhook from "@model-gateway/core/Webhook"
import * as Webhooks from "@model-gateway/core/Webhooks"
import { expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import * as TestReceiver from "../webhooks/TestReceiver.ts"

const exactly = { onExcessProperty: "error" } as const
const one = Schema.decodeUnknownSync(Schema.fromJsonString(Alerts.Response), exactly)
const many = Schema.decodeUnknownSync(Schema.fromJsonString(Alerts.ListResponse), exactly)
const fired = Schema.decodeUnknownSync(Schema.fromJsonString(Alerts.FiringListResponse), exactly)
const sent = Schema.decodeUnknownSync(Schema.fromJsonString(Alerts.TestResponse), exactly)
const rotated = Schema.decodeUnknownSync(Schema.fromJsonString(Webhooks.RotateResponse))
const decodeMade = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      key: Schema.optional(Schema.String),
      data: Schema.Struct({ id: Schema.optional(Schema.String), hash: Schema.optional(Schema.String) })
    })
  )
)

/** What a management key makes: its identifier, and the text of a key. */
const made = (to: string, body: object) =>
  Effect.gen(function* () {
    const { managementKey } = yield* TestGateway
    const { data, key = "" } = decodeMade((yield* post(`/api/v1/${to}`, body, { key: managementKey })).text)
    return { id: data.id ?? data.hash ?? "", key }
  })

const path = "/api/v1/alerts"

const gateway = layer({ outboundExemptHosts: ["127.0.0.1"], circuits: { failures: 2 } }, [
  scripted({
    name: "only",
    rerank: (request) =>
      request.query === "down"
        ? Effect.fail(new ProviderError({ reason: new Unavailable({}), status: 503 }))
        : Effect.succeed(asTheyCame(request))
  })
])

/** Waits until the receiver has so many requests. */
const awaitReceived = (receiver: Effect.Success<ReturnType<typeof TestReceiver.make>>, count: number) =>
  Effect.sync(() => receiver.received.length).pipe(
    Effect.repeat({ until: (length) => length >= count, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("8 seconds")
  )

/** The firings, when all their messages were delivered. */
const delivered = (query: string) =>
  Effect.gen(function* () {
    const { ask, managementKey: key } = yield* TestGateway
    return fired((yield* ask(`${path}/firings${query}`, { key })).text)
  }).pipe(
    Effect.repeat({
      until: ({ data }) =>
        data.every(
          ({ fired_delivery, resolved_at, resolved_delivery }) =>
            fired_delivery?.status === "delivered" &&
            (resolved_at === null || resolved_delivery?.status === "delivered")
        ),
      schedule: Schedule.spaced("20 millis")
    }),
    Effect.timeout("8 seconds")
  )

const rerank = (query: string, key?: string) =>
  post("/api/v1/rerank", { model: "test/rank", query, documents: ["a"] }, key === undefined ? {} : { key })

it.layer(gateway, { excludeTestServices: true })("/alerts", (it) => {
  it.effect("measure each kind, and send a signed webhook that says so", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, ordinaryKey, workspace } = yield* TestGateway
      const receiver = yield* TestReceiver.make(TestReceiver.status(204))
      const target = { type: "webhook", url: `${receiver.url}?token=secret` } as const
      const { data: secret } = rotated(
        (yield* post(`/api/v1/workspaces/default/webhook-secret/rotate`, {}, { key })).text
      )
      const tomorrow = new Date(Date.now() + 26 * 3_600_000).toISOString()
      const { id: spender, key: spending } = yield* made("keys", { name: "spender", limit: 0.01, expires_at: tomorrow })
      const { id: guardrail } = yield* made("guardrails", {
        name: "team",
        limit_usd: 0.002,
        workspace_id: workspace.id
      })
      yield* post(`/api/v1/guardrails/${guardrail}/assignments/keys`, { key_hashes: [spender] }, { key })
      expect((yield* rerank("tea", spending)).status).toBe(200)
      for (let n = 0; n < 2; n++) yield* rerank("down")
      const accounting = yield* Accounting
      const payer = { keyHash: KeyFormat.hashKey(ordinaryKey), workspaceId: workspace.id, guardrailId: null }
      const amount = MicroCredits.make(2000)
      yield* accounting.reserve({ id: "gen-1", payer, operation: "video", model: "m", amount, jobId: "video-1" })
      yield* (yield* SqlClient)`UPDATE reservations SET owner = 'proc_dead', job_id = NULL WHERE id = 'gen-1'`
      yield* accounting.reap

      const cases = [
        [
          { kind: "budget_used", threshold: 0.1, key_hash: spender },
          0.1,
          /^The key "spender" \(mg_sk_….{3}\) has used 10 % of its limit of 0.01 credits\. The alert is set to 10 %\.$/
        ],
        [
          { kind: "budget_used", threshold: 0.5, guardrail_id: guardrail, workspace_id: workspace.id },
          0.5,
          /^The guardrail "team" has used 50 % /
        ],
        [
          { kind: "credits_left", threshold: 50, workspace_id: workspace.id },
          9.999,
          /^The workspace ".+" has 9\.999 credits left\. The alert is set to 50\.$/
        ],
        [
          { kind: "failed_share", threshold: 0.5, min_requests: 3, window_seconds: 600, model: "test/rank" },
          0.6667,
          /^2 of 3 requests to test\/rank failed in the last 600 seconds: 66\.7 %\. /
        ],
        [
          { kind: "circuit_open", threshold: 0, model: "test/rank" },
          undefined,
          /^The circuit of test\/rank at only has been open for \d+ seconds?\. /
        ],
        [
          { kind: "key_expires", threshold: 2 },
          1.08,
          /^A key expires within 2 days\. The first is "spender" \(mg_sk_….{3}\), at /
        ],
        [{ kind: "reservations_abandoned", threshold: 1 }, 1, /^There is 1 abandoned reservation\. /]
      ] as const
      for (const [index, [rule, value, message]] of cases.entries()) {
        const answer = yield* post(path, { name: `alert ${index}`, target, ...rule }, { key })
        inSet("createAlert", answer)
        expect([rule.kind, answer.status, answer.text.includes("secret")]).toEqual([rule.kind, 201, false])
        const { id } = one(answer.text).data
        yield* awaitReceived(receiver, index + 1)
        const { body, headers, path: at } = receiver.received[index] ?? {}
        expect(at).toBe("/hook?token=secret")
        const { event, id: messageId } = yield* Webhook.verifyAlert({
          body: body ?? "",
          headers: headers ?? {},
          secret: secret.secret
        })
        expect(event).toMatchObject({ type: "alert.fired", data: { alert: { id, ...rule, name: `alert ${index}` } } })
        expect(event.data.message).toMatch(message)
        if (value !== undefined) expect(event.data.value).toBe(value)
        const { data } = one((yield* ask(`${path}/${id}`, { key })).text)
        expect(data).toMatchObject({ state: "firing", target: { type: "webhook", url: new URL(receiver.url).origin } })
        expect(messageId).toBe(`evt_alert_${event.data.firing_id}_fired`)
      }
      // Nothing is sent again.
      const firings = yield* delivered("")
      expect(firings.data.map(({ alert_name }) => alert_name)).toEqual(
        cases.map((_, index) => `alert ${index}`).toReversed()
      )
      expect(receiver.received).toHaveLength(cases.length)
      // Credits were added: the change of the rule evaluates it at once, and it does not fire
      // again.
      const credits = firings.data.find(({ kind }) => kind === "credits_left")
      yield* post(`/api/v1/workspaces/default/credits`, { amount: 100 }, { key })
      const raised = yield* post(`${path}/${credits?.alert_id}`, { threshold: 60 }, { key, method: "PATCH" })
      expect(one(raised.text).data).toMatchObject({ threshold: 60, state: "ok" })
      yield* awaitReceived(receiver, cases.length + 1)
      expect(JSON.parse(receiver.received.at(-1)?.body ?? "")).toMatchObject({
        type: "alert.resolved",
        data: { firing_id: credits?.id, reason: "changed" }
      })
      const [first] = (yield* delivered(`?alert_id=${credits?.alert_id}`)).data
      expect(first).toMatchObject({
        resolved_reason: "changed",
        resolved_delivery: { status: "delivered", error: null }
      })
      for (const { id } of many((yield* ask(path, { key })).text).data) {
        expect((yield* ask(`${path}/${id}`, { key, method: "DELETE" })).status).toBe(200)
      }
      expect(many((yield* ask(path, { key })).text)).toEqual({ data: [], total_count: 0 })
    })
  )

  it.effect("do not fire below their bound, for too few requests and for what is not theirs", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const receiver = yield* TestReceiver.make(TestReceiver.status(204))
      const target = { type: "webhook", url: receiver.url }
      const { id: other } = yield* made("workspaces", { name: "o", slug: "other" })
      const rules = [
        { kind: "credits_left", threshold: 0.5, workspace_id: workspace.id },
        { kind: "failed_share", threshold: 0.01 },
        { kind: "failed_share", threshold: 0.01, min_requests: 1, workspace_id: other },
        { kind: "failed_share", threshold: 0.01, min_requests: 1, model: "test/hear" },
        { kind: "circuit_open", threshold: 86_400, model: "test/rank" },
        { kind: "circuit_open", threshold: 0, model: "test/rank", provider: "another" },
        { kind: "key_expires", threshold: 1 },
        { kind: "key_expires", threshold: 300, workspace_id: other },
        { kind: "reservations_abandoned", threshold: 2 },
        { kind: "reservations_abandoned", threshold: 1, workspace_id: other }
      ]
      const ids = []
      for (const rule of rules) {
        const answer = yield* post(path, { name: "quiet", target, ...rule }, { key })
        expect([rule, answer.status]).toEqual([rule, 201])
        ids.push(one(answer.text).data.id)
      }
      for (const id of ids) {
        const { data } = yield* Effect.map(ask(`${path}/${id}`, { key }), ({ text }) => one(text)).pipe(
          Effect.repeat({
            until: ({ data }) => data.last_evaluated_at !== null,
            schedule: Schedule.spaced("20 millis")
          }),
          Effect.timeout("8 seconds")
        )
        expect([data.kind, data.state]).toEqual([data.kind, "ok"])
      }
      expect(receiver.received).toEqual([])
    })
  )

  it.effect("send a marked test, also to Slack, and keep its URL secret", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const receiver = yield* TestReceiver.make(TestReceiver.status(500), TestReceiver.status(200))
      const target = { type: "slack", url: receiver.url }
      const answer = yield* post(
        path,
        { name: "Nights & <weekends>", kind: "reservations_abandoned", threshold: 1000, target },
        { key }
      )
      const { id, target: shown } = one(answer.text).data
      expect(shown).toEqual({ type: "slack", url: new URL(receiver.url).origin })
      const test = yield* ask(`${path}/${id}/test`, { key, method: "POST" })
      inSet("testAlert", test)
      const delivery = sent(test.text).data
      expect(delivery).toMatchObject({
        type: "alert.test",
        video_id: null,
        status: "pending",
        url: new URL(receiver.url).origin
      })
      yield* awaitReceived(receiver, 1)
      expect(JSON.parse(receiver.received[0]?.body ?? "")).toEqual({
        text: 'Test of the alert "Nights &amp; &lt;weekends&gt;": This is a test. Nothing has happened.'
      })
      // The receiver failed: the delivery is repeated as any other, and can be sent again at once.
      const listed = `/api/v1/webhooks/deliveries/${delivery.id}`
      const again = yield* ask(`${listed}/redeliver`, { key, method: "POST" })
      expect(again.status).toBe(200)
      yield* awaitReceived(receiver, 2)
      expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body)
      const audit = yield* ask(`/api/v1/audit?target=${id}`, { key })
      expect(audit.text).toContain("testAlert")
      expect(audit.text).not.toContain("/hook")
      expect(
        (yield* ask(`${path}/${"0".repeat(8)}-0000-4000-8000-000000000000/test`, { key, method: "POST" })).status
      ).toBe(404)
    })
  )

  it.effect("reject what a kind does not take, and addresses that are not public", () =>
    Effect.gen(function* () {
      const { managementKey: key, workspace } = yield* TestGateway
      const target = { type: "webhook", url: "https://hooks.example/x" }
      const hash = "0".repeat(64)
      const { id: other } = yield* made("workspaces", { name: "p", slug: "apart" })
      const { id: own } = yield* made("keys", { name: "k" })
      for (const [rule, fields] of [
        [{ kind: "budget_used", threshold: 0.5 }, ["key_hash"]],
        [{ kind: "budget_used", threshold: 0.5, key_hash: hash }, ["key_hash"]],
        [{ kind: "budget_used", threshold: 0.5, key_hash: own, workspace_id: other }, ["key_hash"]],
        [{ kind: "budget_used", threshold: 80, key_hash: own }, ["threshold"]],
        [{ kind: "credits_left", threshold: 5 }, ["workspace_id"]],
        [{ kind: "credits_left", threshold: -1, workspace_id: workspace.id }, ["threshold"]],
        [{ kind: "failed_share", threshold: 0.5, key_hash: own }, ["key_hash"]],
        [{ kind: "failed_share", threshold: 0.5, window_seconds: 59 }, ["window_seconds"]],
        [{ kind: "failed_share", threshold: 0.5, min_requests: 2001 }, ["min_requests"]],
        [{ kind: "circuit_open", threshold: 5 }, ["model"]],
        [{ kind: "circuit_open", threshold: 0.5, model: "a/b" }, ["threshold"]],
        [{ kind: "key_expires", threshold: 5, window_seconds: 60 }, ["window_seconds"]],
        [{ kind: "reservations_abandoned", threshold: 0 }, ["threshold"]],
        [{ kind: "nothing", threshold: 1 }, ["kind"]],
        [{ kind: "key_expires", threshold: 5, target: { type: "slack", url: "https://10.0.0.1/x" } }, ["target.url"]],
        [
          { kind: "key_expires", threshold: 5, target: { type: "webhook", url: "http://hooks.example" } },
          ["target.url"]
        ],
        [{ kind: "key_expires", threshold: 5, other: 1 }, ["other"]]
      ] as const) {
        const answer = yield* post(path, { name: "n", target, ...rule }, { key })
        inSet("createAlert", answer)
        expect([rule, answer.status, issuePaths(answer)]).toEqual([rule, 400, fields])
      }
      const { id } = one(
        (yield* post(path, { name: "n", target, kind: "key_expires", threshold: 5 }, { key })).text
      ).data
      const patch = (body: object) => post(`${path}/${id}`, body, { key, method: "PATCH" })
      expect(issuePaths(yield* patch({ threshold: 400 }))).toEqual(["threshold"])
      expect(issuePaths(yield* patch({ model: "a/b" }))).toEqual(["model"])
      expect(issuePaths(yield* patch({ kind: "failed_share" }))).toEqual(["kind"])
      expect(one((yield* patch({ name: "m", enabled: false })).text).data).toMatchObject({ name: "m", enabled: false })
    })
  )

  it.effect("go on after one that cannot be read", () =>
    Effect.gen(function* () {
      const { managementKey: key, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      const receiver = yield* TestReceiver.make(TestReceiver.status(204))
      const target = { type: "webhook", url: receiver.url }
      const { id: broken } = yield* made("keys", { name: "broken" })
      const rule = { name: "n", kind: "key_expires", threshold: 5, target, key_hash: broken, enabled: false }
      const { id } = one((yield* post(path, rule, { key })).text).data
      yield* sql`UPDATE keys SET is_management = 7 WHERE hash = ${broken}`
      yield* sql`UPDATE alerts SET enabled = 1 WHERE id = ${id}`
      const firing = { name: "n", kind: "credits_left", threshold: 1_000_000, workspace_id: workspace.id, target }
      for (const count of [1, 2]) {
        yield* post(path, firing, { key })
        yield* awaitReceived(receiver, count)
      }
      const [row] = yield* sql`SELECT checked_at, evaluated_at FROM alerts WHERE id = ${id}`
      expect([Number(row?.["checked_at"]) > 0, row?.["evaluated_at"]]).toEqual([true, null])
      yield* sql`UPDATE keys SET is_management = 0 WHERE hash = ${broken}`
    })
  )

  it.effect("count how long evaluations in a row found a circuit open, whichever process made them", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const sql = yield* SqlClient
      const receiver = yield* TestReceiver.make(TestReceiver.status(204))
      const target = { type: "webhook", url: receiver.url }
      const rule = { kind: "circuit_open", threshold: 150, model: "test/rank", target }
      for (let n = 0; n < 2; n++) yield* rerank("down")
      /** The alert when it has been evaluated after a time. */
      const evaluated = (id: string, time: number) =>
        Effect.map(ask(`${path}/${id}`, { key }), ({ text }) => one(text).data).pipe(
          Effect.repeat({
            until: ({ last_evaluated_at }) => Date.parse(last_evaluated_at ?? "") > time,
            schedule: Schedule.spaced("20 millis")
          }),
          Effect.timeout("8 seconds")
        )
      /** Evaluates an alert whose evaluation a minute ago had this value. */
      const after = (value: number) =>
        Effect.gen(function* () {
          const { id } = one((yield* post(path, { name: "c", ...rule }, { key })).text).data
          expect((yield* evaluated(id, 0)).last_value).toBe(1)
          const ago = Date.now() - 60_000
          yield* sql`UPDATE alerts SET last_value = ${value}, evaluated_at = ${ago}, checked_at = 0 WHERE id = ${id}`
          // A change of the name makes the process look.
          yield* post(`${path}/${id}`, { name: "d" }, { key, method: "PATCH" })
          return yield* evaluated(id, ago + 30_000)
        })
      // The evaluation before found it closed.
      expect(yield* after(0)).toMatchObject({ last_value: 1, state: "ok" })
      const { last_value, state } = yield* after(100)
      expect([Number(last_value) >= 160 && Number(last_value) < 170, state]).toEqual([true, "firing"])
    })
  )

  it.effect("name a key by its own hash, also if they are given that of a later secret", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const { id: hash } = yield* made("keys", { name: "rotated" })
      const { key: later } = yield* made(`keys/${hash}/rotate`, {})
      const target = { type: "webhook", url: "https://hooks.example/x" }
      const rule = { name: "n", kind: "key_expires", threshold: 5, target, key_hash: KeyFormat.hashKey(later) }
      const { id, key_hash } = one((yield* post(path, rule, { key })).text).data
      expect(key_hash).toBe(hash)
      const change = { key_hash: KeyFormat.hashKey(later), threshold: 6 }
      expect(one((yield* post(`${path}/${id}`, change, { key, method: "PATCH" })).text).data.key_hash).toBe(hash)
    })
  )

  it.effect("are seen by keys of their workspace, and changed by admins", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, ordinaryKey, workspace } = yield* TestGateway
      const target = { type: "webhook", url: "https://hooks.example/x" }
      const { id: team } = yield* made("workspaces", { name: "t", slug: "team" })
      const rule = { kind: "key_expires", threshold: 5, target }
      const ids: Array<string> = []
      for (const workspace_id of [null, workspace.id, team]) {
        ids.push(one((yield* post(path, { name: "seen", workspace_id, ...rule }, { key })).text).data.id)
      }
      const { key: viewer } = yield* made("keys", {
        name: "v",
        is_management_key: true,
        role: "viewer",
        workspace_ids: [team]
      })
      const listed = (who: string, query = "") =>
        Effect.map(ask(`${path}${query}`, { key: who }), ({ text }) =>
          many(text).data.flatMap(({ id, name }) => (name === "seen" ? [id] : []))
        )
      expect(yield* listed(key)).toEqual(ids.toReversed())
      expect(yield* listed(viewer)).toEqual([ids[2]])
      expect(yield* listed(key, `?workspace_id=${workspace.id}`)).toEqual([ids[1]])
      expect((yield* ask(`${path}/${ids[0]}`, { key: viewer })).status).toBe(404)
      expect((yield* ask(`${path}/${ids[2]}`, { key: viewer })).status).toBe(200)
      expect((yield* ask(`${path}/firings`, { key: viewer })).status).toBe(200)
      for (const [method, at, body] of [
        ["POST", path, { name: "n", ...rule }],
        ["PATCH", `${path}/${ids[2]}`, { name: "n" }],
        ["DELETE", `${path}/${ids[2]}`, undefined],
        ["POST", `${path}/${ids[2]}/test`, undefined]
      ] as const) {
        const refused = yield* body === undefined
          ? ask(at, { key: viewer, method })
          : post(at, body, { key: viewer, method })
        expect([at, refused.status]).toEqual([at, 403])
        expect(envelopeOf(refused).error.message).toContain("admin")
      }
      expect((yield* ask(path, { key: ordinaryKey })).status).toBe(403)
      // A deleted workspace takes its alerts with it.
      expect((yield* ask(`/api/v1/workspaces/${team}`, { key, method: "DELETE" })).status).toBe(200)
      expect(yield* listed(key)).toEqual([ids[1], ids[0]])
    })
  )
})
