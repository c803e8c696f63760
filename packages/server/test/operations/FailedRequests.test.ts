/** A caller's failed request is found by its id, whatever refused it. */
import { expect, it } from "@effect/vitest"
import * as Generations from "@model-gateway/core/Generations"
import * as ProviderHealth from "@model-gateway/core/ProviderHealth"
import * as RejectedRequests from "@model-gateway/core/RejectedRequests"
import { invalidRequest, ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import { Duration, Effect, Layer, Logger, References, Schedule, Schema } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"
import { post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const body = (query: string, model = "test/rank") => ({ model, query, documents: ["a secret document"] })

const down = () => Effect.fail(new ProviderError({ reason: new Unavailable({}), status: 503 }))

const lines: Array<{ readonly message: string; readonly details: Readonly<Record<string, unknown>> }> = []

const gateway = layer(
  { accessLog: "failures", circuits: { failures: 2 }, deadlines: { rerankAttempt: Duration.seconds(19) } },
  [
    scripted({
      name: "only",
      rerank: (request) =>
        request.query === "wrong"
          ? Effect.fail(invalidRequest(`no "${request.query}"`))
          : request.query === "down"
            ? down()
            : Effect.succeed(asTheyCame(request))
    })
  ]
).pipe(
  Layer.provide(
    Logger.layer([
      Logger.make<unknown, void>(({ fiber, message }) => {
        lines.push({ message: String(message), details: fiber.getRef(References.CurrentLogAnnotations) })
      })
    ])
  )
)

const exactly = { onExcessProperty: "error" } as const
const decodeRejected = Schema.decodeUnknownEffect(Schema.fromJsonString(RejectedRequests.ListResponse), exactly)
const decodeList = Schema.decodeUnknownEffect(Schema.fromJsonString(Generations.ListResponse), exactly)
const decodeOne = Schema.decodeUnknownEffect(Schema.fromJsonString(Generations.Response), exactly)
const decodeHealth = Schema.decodeUnknownEffect(Schema.fromJsonString(ProviderHealth.Response), exactly)

const decodeKey = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Struct({ key: Schema.String, data: Schema.Struct({ hash: Schema.String }) }))
)

const asOperator = Effect.fnUntraced(function* (path: string) {
  const { ask, managementKey } = yield* TestGateway
  const answer = yield* ask(`/api/v1${path}`, { key: managementKey })
  expect([path, answer.status]).toEqual([path, 200])
  return answer.text
})

/** The record of a rejected request, which is written within a second. */
const rejectedOf = (id: string) =>
  asOperator(`/requests/rejected?request_id=${id}`).pipe(
    Effect.flatMap(decodeRejected),
    Effect.repeat({ until: ({ data }) => data.length > 0, schedule: Schedule.spaced("50 millis") }),
    Effect.map(({ data }) => data[0])
  )

const idOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) => String(headers["x-request-id"])

const eventsOf = (event: string) => lines.filter(({ details }) => details["event"] === event)

it.layer(gateway, { excludeTestServices: true })("a failed request", (it) => {
  it.effect("that no provider served is in the request log, with what each provider said", () =>
    Effect.gen(function* () {
      const answer = yield* post("/api/v1/rerank", body("down"))
      expect(answer.status).toBe(502)
      const id = idOf(answer)
      const { data } = yield* decodeList(yield* asOperator(`/generations?request_id=${id}`))
      expect(data).toMatchObject([
        {
          request_id: id,
          operation: "rerank",
          model: "test/rank",
          status: "failed",
          error_status: 502,
          attempts: [{ provider: "only", outcome: "Unavailable", status: 503 }]
        }
      ])
      const found = yield* decodeOne(yield* asOperator(`/generation?id=${id}`))
      expect(found.data).toMatchObject({ id: data[0]?.id, request_id: id, error_status: 502 })
      const { ask } = yield* TestGateway
      expect((yield* ask(`/api/v1/generation?id=${id}`)).status).toBe(200)
      expect(eventsOf("request_failed").at(-1)?.details).toMatchObject({
        request_id: id,
        operation: "rerank",
        status: 502,
        generation_id: data[0]?.id,
        model: "test/rank"
      })
    })
  )

  it.effect("that was refused before is in the list of rejected requests, with the reason", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const unknownModel = yield* post("/api/v1/rerank", body("x", "test/none"))
      const wrongKey = yield* ask("/api/v1/key", { key: "mg_sk_nonsense" })
      const notAllowed = yield* post("/api/v1/rerank", body("x"), { key: managementKey })
      const malformed = yield* post("/api/v1/rerank", { ...body("x"), top_n: "many" })
      // An id that the caller chose.
      yield* post("/api/v1/rerank", body("x", "test/none"), { headers: { "x-request-id": "mine" } })
      const record = yield* rejectedOf(idOf(unknownModel))
      expect(record).toMatchObject({
        operation: "rerank",
        model: "test/none",
        status: 404,
        workspace_id: workspace.id,
        address: "127.0.0.1",
        omitted: 0
      })
      expect(record?.message).toContain("test/none")
      expect(record?.key_hash).toMatch(/^[0-9a-f]{64}$/)
      expect(yield* rejectedOf(idOf(wrongKey))).toMatchObject({ status: 401, key_hash: null, workspace_id: null })
      expect(yield* rejectedOf(idOf(notAllowed))).toMatchObject({ status: 403, operation: "rerank", model: null })
      expect(yield* rejectedOf(idOf(malformed))).toMatchObject({ status: 400 })
      expect(yield* rejectedOf("mine")).toMatchObject({ status: 404 })
      expect((yield* ask("/api/v1/requests/rejected")).status).toBe(403)
      const unknown = yield* ask("/api/v1/requests/rejected?after=nothing", { key: managementKey })
      expect(unknown.status).toBe(400)
    })
  )

  it.effect("with a key that is not valid any more is shown to the organization of the key only", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const manage = (method: string, path: string, body?: object) =>
        ask(`/api/v1/keys${path}`, {
          method,
          key: managementKey,
          headers: { "content-type": "application/json" },
          body: body === undefined ? undefined : JSON.stringify(body)
        })
      const { data, key } = yield* decodeKey((yield* manage("POST", "", { name: "former" })).text)
      for (const end of [manage("PATCH", `/${data.hash}`, { disabled: true }), manage("DELETE", `/${data.hash}`)]) {
        expect((yield* end).status).toBe(200)
        const refused = yield* ask("/api/v1/key", { key })
        expect(refused.status).toBe(401)
        expect(yield* rejectedOf(idOf(refused))).toMatchObject({ key_hash: data.hash, workspace_id: workspace.id })
      }
    })
  )

  it.effect("leaves nothing of its contents, neither in the log nor in the lists", () =>
    Effect.gen(function* () {
      expect((yield* post("/api/v1/rerank", body("wrong"))).status).toBe(400)
      const all = [
        yield* asOperator("/generations"),
        yield* asOperator("/requests/rejected"),
        JSON.stringify(lines)
      ].join("\n")
      expect(all).not.toContain("a secret document")
      expect(all).not.toContain('no \\"wrong')
    })
  )

  it.effect(
    "opens the circuit, which the log says with the cause and the request, and the health of the provider",
    () =>
      Effect.gen(function* () {
        yield* post("/api/v1/rerank", body("down"))
        yield* post("/api/v1/rerank", body("down"))
        const [opened] = eventsOf("circuit_opened")
        expect(opened?.details).toMatchObject({ provider: "only", model: "test/rank", cause: "Unavailable" })
        const { data, instance } = yield* decodeHealth(yield* asOperator("/providers/health"))
        expect(instance.id).not.toBe("")
        const [endpoint] = data.filter(({ model }) => model === "test/rank")
        expect(endpoint).toMatchObject({
          provider: "only",
          kind: "rerank",
          time_limit_ms: 19_000,
          circuit: { state: "open" },
          credential: "accepted",
          last_failure: { outcome: "Unavailable", status: 503, request_id: opened?.details["request_id"] },
          windows: { "5m": { success_rate: 0, p50_ms: null } }
        })
        expect(endpoint?.circuit.opened_at).not.toBeNull()
        expect(endpoint?.circuit.retry_at).not.toBeNull()
        expect(endpoint?.windows["5m"].calls).toBe(endpoint?.windows["1d"].calls)
      })
  )
})
