import { expect, it } from "@effect/vitest"
import * as Activity from "@model-gateway/core/Activity"
import { invalidRequest } from "@model-gateway/offers/ProviderError"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { dayMillis, startOfDay } from "../../src/internal/Periods.ts"
import * as Timestamp from "../../src/internal/Timestamp.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const gateway = layer({}, [
  scripted({
    name: "one",
    rerank: (request) =>
      request.query === "wrong" ? Effect.fail(invalidRequest("no")) : Effect.succeed(asTheyCame(request))
  })
])

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Activity.Response))

const activity = Effect.fnUntraced(function* (query = "") {
  const { ask, managementKey } = yield* TestGateway
  const answer = yield* ask(`/api/v1/activity${query}`, { key: managementKey })
  expect([query, answer.status]).toEqual([query, 200])
  return (yield* decode(answer.text)).data
})

const rank = (query: string, key?: Redacted.Redacted) =>
  post(
    "/api/v1/rerank",
    { model: "test/rank", query, documents: ["a", "b"] },
    key === undefined ? {} : { key: Redacted.value(key) }
  )

it.layer(gateway, { excludeTestServices: true })("the activity", (it) => {
  it.effect("sums the requests of each day, model and provider, and counts those that failed", () =>
    Effect.gen(function* () {
      for (const query of ["right", "right", "wrong"]) yield* rank(query)
      expect((yield* post("/api/v1/rerank", { model: "test/none", query: "q", documents: ["a"] })).status).toBe(404)
      const [item, ...others] = yield* activity()
      expect(others).toEqual([])
      expect(item?.date).toMatch(/^\d{4}-\d{2}-\d{2}$/)
      expect(item).toMatchObject({
        model: "test/rank",
        model_permaslug: "test/rank",
        endpoint_id: "one:test/rank",
        provider_name: "one",
        requests: 3,
        failed_requests: 1,
        usage: 0.002,
        byok_usage_inference: 0,
        prompt_tokens: 4,
        completion_tokens: 0,
        reasoning_tokens: 0
      })
    })
  )

  it.effect("is of one key with its ephemeral keys, of one workspace, or of one day, if asked", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { organizationId, id: workspaceId } = workspace
      const { key, plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k" })
      const ephemeral = yield* (yield* EphemeralKeys).create(key, 60_000)
      for (const own of [plain, ephemeral.plain]) expect((yield* rank("right", own)).status).toBe(200)
      const requests = (query: string) =>
        Effect.map(activity(query), (items) => items.map((item) => [item.requests, item.workspace_id]))
      expect(yield* requests("")).toEqual([[5, undefined]])
      expect(yield* requests("?group_by=workspace")).toEqual([[5, workspaceId]])
      expect(yield* requests(`?api_key_hash=${key.hash}`)).toEqual([[2, undefined]])
      expect(yield* requests("?api_key_hash=unknown")).toEqual([])
      expect(yield* requests(`?workspace_id=${workspaceId}&api_key_hash=${key.hash}`)).toEqual([[2, undefined]])
      expect(yield* requests(`?workspace_id=${workspaceId.toUpperCase()}`)).toEqual([[5, undefined]])
      const [{ date } = { date: "" }] = yield* activity()
      expect(yield* requests(`?date=${date}`)).toEqual([[5, undefined]])
      expect(yield* requests("?date=2026-01-01")).toEqual([])
    })
  )

  it.effect("has the current day and the 30 before it, and any earlier day that is asked for", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const sql = yield* SqlClient
      const [{ date } = { date: "" }] = yield* activity()
      const today = Date.parse(date)
      const dayOf = (days: number) => Timestamp.fromMillis(today - days * dayMillis).slice(0, 10)
      for (const days of [1, 30, 31]) {
        yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
          VALUES (${`old-${days}`}, 'k', ${workspace.id}, 'rerank', 'm', 'p', 'm', 0, 0, 2, 2, ${startOfDay(today) - days * dayMillis}, 0)`
      }
      expect((yield* activity()).map((item) => item.date)).toEqual([date, dayOf(1), dayOf(30)])
      expect(yield* activity(`?date=${dayOf(31)}`)).toMatchObject([{ date: dayOf(31), requests: 1, usage: 0.000002 }])
    })
  )

  it.effect("is still that of a workspace after its deletion, as are its requests", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const workspaces = yield* WorkspaceStore
      const sql = yield* SqlClient
      const { id } = yield* workspaces.create(workspace.organizationId, { name: "w", slug: "deleted" })
      yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
        VALUES ('of-deleted', 'k', ${id}, 'rerank', 'm', 'p', 'm', 0, 0, 2, 2, 0, 0)`
      yield* workspaces.remove(workspace.organizationId, id)
      expect(yield* activity(`?workspace_id=${id}&date=1970-01-01`)).toMatchObject([{ requests: 1 }])
      const requests = yield* ask(`/api/v1/generations?workspace_id=${id}`, { key })
      expect([requests.status, requests.text]).toEqual([200, expect.stringContaining('"of-deleted"')])
    })
  )

  it.effect("comes in pages, which end early if they are large", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      const day = Date.UTC(2020, 0, 1)
      // Two pages: an item of the longest model has the model three times.
      const count = 900
      yield* sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
        INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
        SELECT 'long-' || n, 'k', ${workspace.id}, 'rerank', (1000 + n) || ${"😀".repeat(252)}, 'p', 'm', 0, 0, 2, 2, ${day}, 0 FROM numbers`
      const page = Effect.fnUntraced(function* (query: string) {
        const { text } = yield* ask(`/api/v1/activity?date=2020-01-01${query}`, { key })
        expect(text.length).toBeLessThan(2 * 1024 * 1024)
        return yield* decode(text)
      })
      const first = yield* page("")
      expect([first.has_more, first.data.length > 500]).toEqual([true, true])
      const second = yield* page(`&after=${first.next}`)
      expect([second.has_more, second.next]).toEqual([false, null])
      const models = [...first.data, ...second.data].map(({ model }) => model)
      expect([models.length, new Set(models).size]).toEqual([count, count])
      const small = yield* page("&limit=1&group_by=workspace")
      expect([small.data.map(({ model }) => model), small.has_more]).toEqual([[models[0]], true])
      const next = yield* page(`&limit=1&group_by=workspace&after=${small.next}`)
      expect(next.data.map(({ model }) => model)).toEqual([models[1]])
    })
  )

  it.effect("names what is wrong with a filter, and is shown to management keys of the organization only", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      for (const [query, field] of [
        ["?date=today", "date"],
        ["?date=2026-02-30", "date"],
        ["?group_by=model", "group_by"],
        ["?from=2026-01-01T00:00:00Z", "from"],
        ["?to=2026-01-01T00:00:00Z", "to"],
        ["?details=true", "details"],
        ["?model=m", "model"],
        ["?error_status=502", "error_status"],
        ["?interval=day&error_status=200", "error_status"],
        ["?interval=day&status=done", "status"],
        ["?interval=day&operation=chat", "operation"],
        ["?interval=week", "interval"],
        ["?interval=day&group_by=color", "group_by"],
        ["?interval=day&date=2026-01-01", "date"],
        ["?interval=day&from=2026-02-30T00:00:00Z", "from"],
        ["?interval=day&from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", "from"],
        ["?interval=day&from=2025-01-01T00:00:00Z&to=2026-01-03T00:00:00Z", "from"],
        ["?interval=day&details=false", "details"],
        ["?interval=day&after=WzFd", "after"],
        ["?format=xml", "format"],
        ["?limit=2001", "limit"],
        ["?after=WzFd", "after"],
        ["?workspace_id=mine", "workspace_id"],
        ["?user_id=someone", "user_id"]
      ] as const) {
        const answer = yield* ask(`/api/v1/activity${query}`, { key })
        expect([query, answer.status, issuePaths(answer)]).toEqual([query, 400, [field]])
      }
      expect((yield* ask("/api/v1/activity")).status).toBe(403)
      const foreign = yield* ask("/api/v1/activity?workspace_id=7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10", { key })
      expect([foreign.status, envelopeOf(foreign).error.code]).toEqual([403, 403])
      const sql = yield* SqlClient
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('other', 'o', 0)`
      yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
        VALUES ('other', 'other', 'w', 1, 'native', 0, 0, 0, 0)`
      const stranger = { organizationId: "other", workspaceId: "other", name: "k", isManagement: true }
      const { plain } = yield* (yield* KeyStore).create(stranger)
      const others = yield* ask("/api/v1/activity", { key: Redacted.value(plain) })
      expect((yield* decode(others.text)).data).toEqual([])
    })
  )
})

const workspaceRow = (id: string, rows: string) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
  INSERT INTO usage_ledger (id, key_hash, workspace_id, guardrail_id, operation, model, provider, upstream_model,
    is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at, status, error_status, external_user)
  SELECT ${rows.replaceAll("$workspace", `'${id}'`)}`

it.layer(gateway, { excludeTestServices: true })("the activity by hour or day, and group", (it) => {
  const noon = Date.UTC(2026, 0, 5, 12)
  const range = "from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z"

  /** 40 requests, one a minute from noon on: every tenth fails, the others take 100 ms and more. */
  const requests = Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const sql = yield* SqlClient
    yield* sql.unsafe(
      workspaceRow(
        workspace.id,
        `'series-' || i, 'key-' || (i % 2), $workspace, CASE i % 2 WHEN 0 THEN 'rail' END, 'rerank', 'm' || (i % 4), 'p', 'm',
         0, 0, 10, CASE i % 10 WHEN 9 THEN 0 ELSE 10 END, ${noon} + i * 120000, ${noon} + i * 120000 + 100 + i,
         CASE i % 10 WHEN 9 THEN 'failed' ELSE 'completed' END, CASE i WHEN 9 THEN 429 WHEN 19 THEN NULL WHEN 29 THEN 502 WHEN 39 THEN 502 END,
         CASE i % 5 WHEN 0 THEN '=ada' END FROM n LIMIT 40`
      )
    )
  })

  const items = (query: string) => activity(`?${range}&${query}`)

  it.effect("has failures by status and durations, by hour", () =>
    Effect.gen(function* () {
      yield* requests
      const [later, earlier, ...others] = yield* items("interval=hour")
      expect(others).toEqual([])
      expect(later).toMatchObject({ start: "2026-01-05T13:00:00.000Z", requests: 10, failures: { 502: 1 } })
      expect(earlier).toEqual({
        date: "2026-01-05",
        start: "2026-01-05T12:00:00.000Z",
        model: "",
        model_permaslug: "",
        endpoint_id: "",
        provider_name: "",
        requests: 30,
        failed_requests: 3,
        usage: 0.00027,
        byok_usage_inference: 0,
        prompt_tokens: 0,
        completion_tokens: 0,
        reasoning_tokens: 0,
        failures: { 429: 1, failed: 1, 502: 1 },
        duration_p50_ms: 114,
        duration_p95_ms: 127
      })
    })
  )

  it.effect("has items of each key, user, workspace, model, provider or guardrail", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const byGroup = (group: string, field: keyof Activity.Item) =>
        Effect.map(items(`interval=day&group_by=${group}`), (found) =>
          found.map((item) => [item[field], item.requests, item.failures === undefined])
        )
      expect(yield* byGroup("key", "key_hash")).toEqual([
        ["key-0", 20, true],
        ["key-1", 20, true]
      ])
      expect(yield* byGroup("user", "external_user")).toEqual([
        ["", 32, false],
        ["=ada", 8, false]
      ])
      expect(yield* byGroup("workspace", "workspace_id")).toEqual([[workspace.id, 40, true]])
      expect((yield* byGroup("model", "model")).map(([model]) => model)).toEqual(["m0", "m1", "m2", "m3"])
      expect(yield* byGroup("provider", "provider_name")).toEqual([["p", 40, true]])
      expect(yield* byGroup("guardrail", "guardrail_id")).toEqual([
        ["", 20, false],
        ["rail", 20, false]
      ])
      const detailed = yield* items("interval=day&details=true&api_key_hash=key-1")
      expect(detailed).toMatchObject([{ requests: 20, failed_requests: 4, duration_p50_ms: 117 }])
    })
  )

  it.effect("has items of each minute, or one of all of the range", () =>
    Effect.gen(function* () {
      const minutes = yield* items("interval=minute")
      expect([minutes.length, minutes[0]?.start, minutes[0]?.requests]).toEqual([40, "2026-01-05T13:18:00.000Z", 1])
      const start = "2026-01-05T00:00:00.000Z"
      expect(yield* items("interval=range")).toMatchObject([{ start, requests: 40, duration_p95_ms: 137 }])
      expect(yield* items("interval=range&group_by=key")).toMatchObject([
        { start, key_hash: "key-0", requests: 20, failed_requests: 0 },
        { start, key_hash: "key-1", requests: 20, failed_requests: 4 }
      ])
    })
  )

  it.effect("is of the requests that filters select", () =>
    Effect.gen(function* () {
      const requests = (query: string) =>
        Effect.map(items(`interval=day&${query}`), (found) => found.map((item) => [item.requests, item.failures]))
      expect(yield* requests("model=m1")).toEqual([[10, { 429: 1, 502: 1 }]])
      expect(yield* requests("model=m1&status=completed")).toEqual([[8, {}]])
      expect(yield* requests("error_status=502")).toEqual([[2, { 502: 2 }]])
      expect(yield* requests("user==ada")).toEqual([[8, {}]])
      expect(yield* requests("operation=rerank&provider=p")).toEqual([[40, { 429: 1, 502: 2, failed: 1 }]])
      for (const none of ["operation=video", "provider=q", "model=m9", "user=bob"]) {
        expect(yield* requests(none)).toEqual([])
      }
    })
  )

  it.effect("comes in pages", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const all = yield* items("interval=hour&group_by=model")
      const paged: Array<Activity.Item> = []
      let after = ""
      do {
        const query = `${range}&interval=hour&group_by=model&limit=3${after}`
        const page = yield* decode((yield* ask(`/api/v1/activity?${query}`, { key })).text)
        expect(page.data.length).toBeLessThanOrEqual(3)
        paged.push(...page.data)
        after = page.next === null ? "" : `&after=${page.next}`
      } while (after !== "")
      expect([paged.length, paged]).toEqual([8, all])
    })
  )

  it.effect("is CSV if asked, without formulas", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const csv = (query: string) => ask(`/api/v1/activity?${query}&format=csv`, { key })
      const answer = yield* csv(`${range}&interval=day&group_by=user&limit=1`)
      expect(answer.headers["content-type"]).toBe("text/csv; charset=utf-8")
      const next = yield* csv(`${range}&interval=day&group_by=user&after=${String(answer.headers["x-next"])}`)
      expect(next.headers["x-next"]).toBeUndefined()
      const names =
        "date,model,provider_name,requests,failed_requests,usage,byok_usage_inference,prompt_tokens,completion_tokens," +
        "start,external_user,failures,duration_p50_ms,duration_p95_ms"
      expect(answer.text.split("\r\n")).toEqual([
        names,
        "2026-01-05,,,32,4,0.00028,0,0,0,2026-01-05T00:00:00.000Z,,429=1 502=2 failed=1,118,137",
        ""
      ])
      expect(next.text.split("\r\n")[1]).toContain(",'=ada,")
      const days = yield* csv("date=2026-01-05&limit=1")
      expect(days.text).toMatch(/^date,model,provider_name,requests,[a-z_,]+\r\n2026-01-05,m0,p,10,/)
    })
  )

  it.effect("says from when on a range has few enough requests", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      const day = Date.UTC(2025, 5, 1)
      yield* sql.unsafe(
        workspaceRow(
          workspace.id,
          `'many-' || i, 'k', $workspace, NULL, 'rerank', 'm', 'p', 'm', 0, 0, 0, 0, ${day} + i, ${day} + i, 'completed', NULL, NULL FROM n LIMIT 10003`
        )
      )
      const query = (from: string) => `/api/v1/activity?interval=day&details=true&from=${from}&to=2025-06-02T00:00:00Z`
      const refused = yield* ask(query("2025-06-01T00:00:00Z"), { key })
      expect([refused.status, issuePaths(refused)]).toEqual([400, ["from"]])
      expect(envelopeOf(refused).error.message).toBe(
        "invalid request parameters: from: Expected a range with at most 10000 requests: from 2025-06-01T00:00:00.003Z on"
      )
      const { data } = yield* decode((yield* ask(query("2025-06-01T00:00:00.003Z"), { key })).text)
      expect(data).toMatchObject([{ requests: 10_000 }])
    })
  )
})
