import { describe, expect, it } from "@effect/vitest"
import { Webhook } from "@model-gateway/core"
import { Job } from "@model-gateway/core/Video"
import { type Delivery, DeliveryListResponse, DeliveryResponse, RotateResponse } from "@model-gateway/core/Webhooks"
import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { issuePaths, post } from "../TestEnvelope.ts"
import { type Answer, layer, TestGateway } from "../TestGateway.ts"
import * as TestReceiver from "../webhooks/TestReceiver.ts"

const decodes =
  <A>(schema: Schema.ConstraintDecoder<A>) =>
  ({ status, text }: Answer) =>
    status < 300
      ? Effect.orDie(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text))
      : Effect.die(new Error(`${status}: ${text}`))

const path = "/api/v1/webhooks/deliveries"

const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }

/** Sends a request with the management key. */
const manage = (path: string, body?: unknown) =>
  Effect.flatMap(TestGateway, ({ ask, managementKey: key }) =>
    body === undefined ? ask(path, { key }) : post(path, body, { key })
  )

const list = (query = "") => Effect.flatMap(manage(`${path}${query}`), decodes(DeliveryListResponse))

const get = (id: string) =>
  Effect.map(Effect.flatMap(manage(`${path}/${id}`), decodes(DeliveryResponse)), ({ data }) => data)

const until = (id: string, is: (delivery: Delivery) => boolean) =>
  Effect.filterOrFail(get(id), is, () => "not yet").pipe(Effect.retry({ schedule: Schedule.spaced("20 millis") }))

const rotate = (body: unknown = {}) =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const rotated = yield* manage(`/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`, body)
    return (yield* decodes(RotateResponse)(rotated)).data
  })

/** Deliveries whose receiver is not asked: they are due in a year. */
const waiting = (names: ReadonlyArray<string>, type: Webhook.EventType = "video.completed", workspaceId?: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const store = yield* DeliveryStore
    const { workspace } = yield* TestGateway
    for (const name of names) {
      yield* sql.withTransaction(
        Effect.andThen(
          store.write({
            id: `evt_${name}`,
            workspaceId: workspaceId ?? workspace.id,
            jobId: `video_${name}`,
            type,
            url: "https://user:secret@hooks.example/in?token=secret#secret",
            body: "{}"
          }),
          sql`UPDATE webhook_deliveries SET due_at = created_at + 31536000000 WHERE id = ${`evt_${name}`}`
        )
      )
    }
  })

describe("webhooks", () => {
  it.live(
    "report the end of a job once, as GET /videos/{id} shows it, and are listed with their attempts [spec N22 Q1]",
    () =>
      Effect.gen(function* () {
        const { ask, workspace } = yield* TestGateway
        const { received, url } = yield* TestReceiver.make(TestReceiver.status(204))
        const { secret } = yield* rotate()
        // Over HTTP, which only tests do: a caller cannot set such a URL.
        yield* (yield* WorkspaceStore).update(workspace.organizationId, workspace.id, { defaultCallbackUrl: url })
        const completed = yield* Effect.flatMap(post("/api/v1/videos", film), decodes(Job))
        const cancelled = yield* Effect.flatMap(post("/api/v1/videos", { ...film, duration: 10 }), decodes(Job))
        yield* post(`/api/v1/videos/${cancelled.id}/cancel`, {})
        for (const [job, type] of [
          [completed, "video.completed"],
          [cancelled, "video.cancelled"]
        ] as const) {
          const delivery = yield* Effect.map(list(`?video_id=${job.id}`), ({ data: [first] }) => first).pipe(
            Effect.filterOrFail(
              (found) => found?.status === "delivered",
              () => "not yet"
            ),
            Effect.retry({ schedule: Schedule.spaced("20 millis") })
          )
          expect(delivery).toMatchObject({ type, url, workspace_id: workspace.id, next_attempt_at: null })
          expect(delivery?.attempts).toMatchObject([{ status_code: 204, error: null, response_excerpt: null }])
          const request = received.find(({ headers }) => headers["webhook-id"] === delivery?.id)
          const { event } = yield* Webhook.verify({ headers: {}, body: "", ...request, secret })
          expect(event.type).toBe(type)
          const { text } = yield* ask(`/api/v1/videos/${job.id}`)
          expect(event.data).toEqual(JSON.parse(text))
        }
        expect(received).toHaveLength(2)
      }).pipe(Effect.scoped, Effect.provide(layer({ outboundExemptHosts: ["127.0.0.1"] })))
  )

  it.live("are sent again under the same id", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { received, url } = yield* TestReceiver.make(TestReceiver.status(410), TestReceiver.status(200))
      yield* (yield* WorkspaceStore).update(workspace.organizationId, workspace.id, { defaultCallbackUrl: url })
      const job = yield* Effect.flatMap(post("/api/v1/videos", { ...film, duration: 10 }), decodes(Job))
      yield* post(`/api/v1/videos/${job.id}/cancel`, {})
      const [delivery] = (yield* list(`?video_id=${job.id}`)).data
      const id = delivery?.id ?? ""
      yield* until(id, ({ status }) => status === "failed")
      const again = yield* Effect.flatMap(manage(`${path}/${id}/redeliver`, {}), decodes(DeliveryResponse))
      expect(again.data).toMatchObject({ id, status: "pending" })
      expect((yield* until(id, ({ status }) => status === "delivered")).attempts).toHaveLength(2)
      expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([id, id])
    }).pipe(Effect.scoped, Effect.provide(layer({ outboundExemptHosts: ["127.0.0.1"] })))
  )

  it.live("are listed newest first, in pages, by status and type, without credentials of their URL", () =>
    Effect.gen(function* () {
      yield* waiting(["a", "b", "c"])
      yield* waiting(["d", "e"], "video.failed")
      const sql = yield* SqlClient
      yield* sql`UPDATE webhook_deliveries SET created_at = 1 WHERE id IN ('evt_a', 'evt_b')`
      yield* sql`UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, finished_at = 2 WHERE id IN ('evt_b', 'evt_e')`
      const idsOf = ({ data, has_more }: DeliveryListResponse) => [data.map(({ id }) => id.slice(4)).join(""), has_more]
      yield* sql`UPDATE webhook_deliveries SET created_at = 2 WHERE created_at <> 1`
      expect(idsOf(yield* list())).toEqual(["edcba", false])
      expect(idsOf(yield* list("?limit=2"))).toEqual(["ed", true])
      expect(idsOf(yield* list("?limit=2&after=evt_d"))).toEqual(["cb", true])
      expect(idsOf(yield* list("?limit=2&after=evt_b"))).toEqual(["a", false])
      expect(idsOf(yield* list("?status=failed"))).toEqual(["eb", false])
      expect(idsOf(yield* list("?type=video.completed"))).toEqual(["cba", false])
      expect(idsOf(yield* list("?type=video.failed&status=pending"))).toEqual(["d", false])
      expect(idsOf(yield* list("?video_id=video_b"))).toEqual(["b", false])
      expect(idsOf(yield* list("?video_id=video_b&status=delivered"))).toEqual(["", false])
      const { data } = yield* list()
      expect(new Set(data.map(({ url }) => url))).toEqual(new Set(["https://hooks.example/in"]))
      expect(issuePaths(yield* manage(`${path}?after=evt_x`))).toEqual(["after"])
      expect(issuePaths(yield* manage(`${path}?status=open`))).toEqual(["status"])
    }).pipe(Effect.provide(layer()))
  )

  it.live("are for management keys, and for their own organization", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('other', 'Other', 0)`
      const foreign = yield* (yield* WorkspaceStore).create("other", { name: "Foreign", slug: "foreign" })
      yield* waiting(["mine"])
      yield* waiting(["foreign"], "video.completed", foreign.id)
      for (const one of [path, `${path}/evt_mine`]) expect((yield* ask(one)).status).toBe(403)
      expect((yield* post(`${path}/evt_mine/redeliver`, {})).status).toBe(403)
      expect((yield* post(`/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`, {})).status).toBe(403)
      expect((yield* manage(`${path}/evt_foreign`)).status).toBe(404)
      expect((yield* manage(`${path}/evt_foreign/redeliver`, {})).status).toBe(404)
      expect((yield* manage(`${path}?workspace_id=${foreign.id}`)).status).toBe(403)
      expect((yield* manage(`/api/v1/workspaces/${foreign.id}/webhook-secret/rotate`, {})).status).toBe(404)
      expect((yield* list("?video_id=video_foreign")).data).toEqual([])
    }).pipe(Effect.provide(layer()))
  )
})

describe("the secret of a workspace", () => {
  it.live("is shown once, and the one before keeps signing for as long as the caller says", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const first = yield* rotate()
      expect(first).toMatchObject({ workspace_id: workspace.id, previous_expires_at: null })
      expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const validFor = ({ created_at, previous_expires_at }: typeof first) =>
        Date.parse(previous_expires_at ?? "") - Date.parse(created_at)
      const second = yield* rotate()
      expect([second.secret === first.secret, validFor(second)]).toEqual([false, 86_400_000])
      expect(validFor(yield* rotate({ keep_previous_for: 60 }))).toBe(60_000)
      expect((yield* rotate({ keep_previous_for: 0 })).previous_expires_at).toBe(null)
      // A body is not needed.
      const { ask, managementKey: key } = yield* TestGateway
      const path = `/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`
      expect((yield* ask(path, { key, method: "POST" })).status).toBe(200)
      // Nothing of it is stored in plain text.
      const sql = yield* SqlClient
      const stored = JSON.stringify(yield* sql`SELECT * FROM webhook_secrets`)
      expect(stored).not.toContain(first.secret)
      expect(
        issuePaths(yield* manage(`/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`, { keep_previous_for: -1 }))
      ).toEqual(["keep_previous_for"])
    }).pipe(Effect.provide(layer()))
  )
})

describe("a callback URL", () => {
  const refused = [
    "https://user:secret@hooks.example/",
    "https://127.0.0.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://0177.0.0.1/",
    "https://[::ffff:169.254.169.254]/",
    "https://0/",
    "https://10.0.0.7/",
    `https://hooks.example/${"x".repeat(2048)}`
  ]

  it.live("with credentials or an address that is not public is rejected, naming its field", () =>
    Effect.gen(function* () {
      const { workspace, managementKey: key } = yield* TestGateway
      for (const url of refused) {
        const submitted = yield* post("/api/v1/videos", { ...film, callback_url: url })
        expect([url, submitted.status, issuePaths(submitted)]).toEqual([url, 400, ["callback_url"]])
        const updated = yield* post(
          `/api/v1/workspaces/${workspace.id}`,
          { default_callback_url: url },
          { key, method: "PATCH" }
        )
        expect([url, updated.status, issuePaths(updated)]).toEqual([url, 400, ["default_callback_url"]])
        expect(submitted.text).not.toContain("secret")
      }
      expect((yield* list()).data).toEqual([])
    }).pipe(Effect.provide(layer()))
  )

  it.live("may name an exempt host, only over https [spec Q2]", () =>
    Effect.gen(function* () {
      expect((yield* post("/api/v1/videos", { ...film, callback_url: "https://10.0.0.7/" })).status).toBe(202)
      const http = yield* post("/api/v1/videos", { ...film, callback_url: "http://10.0.0.7/" })
      expect([http.status, issuePaths(http)]).toEqual([400, ["callback_url"]])
    }).pipe(Effect.provide(layer({ outboundExemptHosts: ["10.0.0.7"] })))
  )
})
