import { describe, expect, it } from "@effect/vitest"
import {
  Byok,
  CohereRerank,
  Destinations,
  Files,
  Gateway,
  type GatewayClient,
  GatewayError,
  Identifiers,
  RetryPolicy,
  Transcription,
  Webhooks
} from "@model-gateway/core"
import { Arbitrary, Effect, Predicate, Redacted, Schema, Struct } from "effect"
import * as Multipart from "effect/http/Multipart"
import { deepStrictEqual } from "node:assert"
import { codec, endpoint, endpoints, jsonOf } from "./contract.ts"
import * as Stub from "./stub.ts"

const runs = { arbitrary: { runs: 50 } }

/** `JSON.parse` of Node 24 may read such a name as `\\` once an object with that name exists. */
const isEscaped = (name: string) => JSON.stringify(name).length > name.length + 2

/** JSON has no negative zero. */
const asJson = (value: unknown): unknown =>
  typeof value === "number"
    ? value + 0
    : Array.isArray(value)
      ? value.map(asJson)
      : Predicate.isObject(value) && !Redacted.isRedacted(value)
        ? Object.fromEntries(
            Object.entries(value).flatMap(([name, field]) => (isEscaped(name) ? [] : [[name, asJson(field)]]))
          )
        : value

const values = (schema: Schema.Top) => Arbitrary.map(Arbitrary.schema(codec(schema)), asJson)

const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const isBytes = (schema: Schema.Top) => "contentType" in schema

describe("encoding a request changes nothing", () => {
  for (const { headers, identifier, params, payload, query } of endpoints) {
    const json = payload.get("application/json")?.schemas[0]
    if (json !== undefined) {
      it.effect.prop(
        `${identifier}: body`,
        [values(json)],
        ([value]) =>
          Effect.gen(function* () {
            const encoded = yield* Schema.encodeUnknownEffect(codec(json))(value)
            expect(encoded).toEqual(value)
            expect(yield* Schema.decodeUnknownEffect(codec(json))(overTheWire(encoded))).toEqual(value)
          }),
        runs
      )
    }
    for (const [part, schema] of Object.entries({ params, headers })) {
      if (schema === undefined) continue
      it.effect.prop(
        `${identifier}: ${part}`,
        [values(schema)],
        ([value]) =>
          Effect.gen(function* () {
            expect(yield* Schema.encodeUnknownEffect(codec(schema))(value)).toEqual(value)
          }),
        runs
      )
    }
    if (query !== undefined) {
      it.effect.prop(
        `${identifier}: query, where numbers are written out`,
        [values(query)],
        ([value]) =>
          Effect.gen(function* () {
            const written = Object.fromEntries(
              Object.entries(value ?? {}).map(([name, field]) => [name, String(field)])
            )
            expect(yield* Schema.encodeUnknownEffect(codec(query))(value)).toEqual(written)
            expect(yield* Schema.decodeUnknownEffect(codec(query))(written)).toEqual(value)
          }),
        runs
      )
    }
  }
})

describe("decoding a response reverses its encoding", () => {
  for (const { identifier, success } of endpoints) {
    for (const schema of success) {
      if (isBytes(schema)) continue
      it.effect.prop(
        identifier,
        [values(schema)],
        ([value]) =>
          Effect.gen(function* () {
            const encoded = yield* Schema.encodeUnknownEffect(codec(schema))(value)
            const decoded = yield* Schema.decodeUnknownEffect(codec(schema))(overTheWire(encoded))
            deepStrictEqual(decoded, value)
            // A redacted value looks like any other.
            deepStrictEqual(
              overTheWire(yield* Schema.encodeUnknownEffect(codec(schema))(decoded)),
              overTheWire(encoded)
            )
          }),
        runs
      )
    }
  }

  const errors = [
    GatewayError.BadRequest,
    GatewayError.Unauthorized,
    GatewayError.PaymentRequired,
    GatewayError.Forbidden,
    GatewayError.NotFound,
    GatewayError.PayloadTooLarge,
    GatewayError.TooManyRequests,
    GatewayError.InternalServerError,
    GatewayError.BadGateway,
    GatewayError.ServiceUnavailable,
    GatewayError.GatewayTimeout,
    GatewayError.UpstreamTimeout,
    GatewayError.ProviderOverloaded
  ]
  for (const error of errors) {
    const schema: Schema.Codec<GatewayError.EnvelopeError, unknown> = error
    it.effect.prop(
      error.name,
      [schema],
      ([value]) =>
        Effect.gen(function* () {
          const encoded = asJson(yield* Schema.encodeEffect(schema)(value))
          expect(encoded).not.toHaveProperty("_tag")
          expect(encoded).not.toHaveProperty("attempts")
          const decoded = yield* Schema.decodeUnknownEffect(schema)(overTheWire(encoded))
          expect(decoded).toBeInstanceOf(error)
          expect(decoded.status).toBe(GatewayError.statusOf(error))
          expect(decoded.message).toBe(value.error.message)
          deepStrictEqual(asJson(yield* Schema.encodeEffect(schema)(decoded)), encoded)
        }),
      runs
    )
  }
})

/** Half a surrogate pair cannot leave a form or a path: it goes as the replacement character. */
const wellFormed = (value: unknown): unknown =>
  typeof value === "string"
    ? value.toWellFormed()
    : Array.isArray(value)
      ? value.map(wellFormed)
      : Predicate.isObject(value) && !Redacted.isRedacted(value)
        ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, wellFormed(field)]))
        : value

const toPersisted = Schema.decodeSync(Schema.toCodecJson(Multipart.PersistedFileSchema))

/** A form as a service hands it to the schema. */
const persisted = (form: FormData | undefined) =>
  Object.fromEntries(
    Array.from(new Set(form?.keys()), (key) => {
      const values = (form?.getAll(key) ?? []).map((value) =>
        typeof value === "string" ? value : toPersisted({ key, name: value.name, contentType: value.type, path: "p" })
      )
      return [key, values.length === 1 && typeof values[0] === "string" ? values[0] : values]
    })
  )

const formOf = (identifier: string): Schema.Codec<unknown, unknown> => {
  const schema = endpoint(identifier).payload.get("multipart/form-data")?.schemas[0]
  return codec(schema ?? Schema.Never)
}

/** What the client puts on the wire, once. */
const sentBy = (
  call: (client: Gateway.Gateway["Service"]) => Effect.Effect<unknown, unknown, GatewayClient.GatewayClient>
) =>
  Effect.gen(function* () {
    const stub = Stub.make(() => Stub.failure(401))
    yield* Effect.flatMap(Gateway.Gateway, call).pipe(
      Effect.ignore,
      stub.run(),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)
    )
    return stub.sent[0]
  })

describe("the service's schemas decode what the client sends", () => {
  const fields = Schema.Struct(Struct.omit(Transcription.Request.fields, ["input_audio"]))

  it.effect.prop(
    "transcribe: the form",
    [Arbitrary.schema(fields)],
    ([input]) =>
      Effect.gen(function* () {
        const sent = yield* sentBy((client) =>
          client.transcribe({ ...input, file: new Uint8Array(3), filename: "a.wav" })
        )
        const read = yield* Schema.decodeUnknownEffect(formOf("transcribe"))(persisted(sent?.form))
        const { timestamp_granularities: granularities, ...rest } = input
        const expected = {
          // As JSON inside the form, these keep characters that a form's own text loses.
          ...Object.fromEntries(
            Object.entries(rest).map(([name, value]) => [
              name,
              name === "provider" || name === "trace" ? value : wellFormed(value)
            ])
          ),
          ...(granularities === undefined || granularities.length === 0
            ? {}
            : { "timestamp_granularities[]": granularities.length === 1 ? granularities[0] : granularities })
        }
        expect(read).toMatchObject({ file: { name: "a.wav", key: "file" } })
        const { file: _, ...others }: { readonly [name: string]: unknown } = {
          ...(Predicate.isObject(read) ? read : {})
        }
        expect(asJson(others)).toEqual(asJson(expected))
      }),
    runs
  )

  it.effect.prop(
    "uploadFile: the form",
    [Files.Purpose],
    ([purpose]) =>
      Effect.gen(function* () {
        const sent = yield* sentBy((client) =>
          client.uploadFile({ file: new Uint8Array(3), filename: "n.txt", purpose })
        )
        const read = yield* Schema.decodeUnknownEffect(formOf("uploadFile"))(persisted(sent?.form))
        expect(read).toMatchObject({ purpose: wellFormed(purpose), file: { name: "n.txt" } })
      }),
    runs
  )

  it.effect.prop(
    "the path: any key hash, unless it would be another path",
    [Identifiers.KeyHash],
    ([hash]) =>
      Effect.gen(function* () {
        const sent = yield* sentBy((client) => client.getKey(hash))
        const segments = sent?.url.pathname.split("/") ?? []
        expect(segments.slice(0, -1)).toEqual(["", "api", "v1", "keys"])
        const last = decodeURIComponent(segments.at(-1) ?? "")
        expect(last).toBe(hash === "." || hash === ".." ? `%${hash}` : hash.toWellFormed())
      }),
    runs
  )

  it.effect.prop(
    "the query: any page",
    [Schema.Struct(Identifiers.Page)],
    ([page]) =>
      Effect.gen(function* () {
        const sent = yield* sentBy((client) => client.listFiles(page))
        const query = Object.fromEntries(sent?.url.searchParams ?? [])
        const schema = endpoint("listFiles").query
        expect(yield* Schema.decodeUnknownEffect(codec(schema ?? Schema.Never))(query)).toEqual(wellFormed(page))
      }),
    runs
  )

  it.effect.prop(
    "the query: any page at a position",
    [Schema.Struct({ ...Identifiers.OffsetPage, include_disabled: Schema.optionalKey(Schema.Boolean) })],
    ([page]) =>
      Effect.gen(function* () {
        const sent = yield* sentBy((client) => client.listKeys(page))
        const query = Object.fromEntries(sent?.url.searchParams ?? [])
        const schema = endpoint("listKeys").query
        expect(yield* Schema.decodeUnknownEffect(codec(schema ?? Schema.Never))(query)).toEqual(page)
      }),
    runs
  )

  const calls: {
    readonly [identifier: string]: (
      client: Gateway.Gateway["Service"],
      body: never
    ) => Effect.Effect<unknown, unknown, GatewayClient.GatewayClient>
  } = {
    rerank: (client, body) => client.rerank(body),
    transcribe: (client, body) => client.transcribe(body),
    submitVideo: (client, body) => client.submitVideo(body),
    estimate: (client, body) => client.estimate(body),
    assignKeys: (client, body) => client.assignKeys("g", body),
    unassignKeys: (client, body) => client.unassignKeys("g", body),
    createEphemeralKey: (client, body) => client.createEphemeralKey(body),
    createEphemeralKeyFor: (client, body) => client.createEphemeralKeyFor("h", body),
    createKey: (client, body) => client.createKey(body),
    updateKey: (client, body) => client.updateKey("h", body),
    rotateKey: (client, body) => client.rotateKey("h", body),
    createGuardrail: (client, body) => client.createGuardrail(body),
    updateGuardrail: (client, body) => client.updateGuardrail("g", body),
    createWorkspace: (client, body) => client.createWorkspace(body),
    updateWorkspace: (client, body) => client.updateWorkspace("w", body),
    addCredits: (client, body) => client.addCredits("w", body),
    settleReservation: (client, body) => client.settleReservation("r", body),
    rotateWebhookSecret: (_, body) => Webhooks.rotateWebhookSecret("w", body),
    createByokKey: (_, body) => Byok.createByokKey(body),
    updateByokKey: (_, body) => Byok.updateByokKey("k", body),
    createAlert: (client, body) => client.createAlert(body),
    updateAlert: (client, body) => client.updateAlert("a", body),
    createDestination: (_, body) => Destinations.createDestination(body),
    updateDestination: (_, body) => Destinations.updateDestination("d", body),
    cohereRerank: (_, body) => CohereRerank.cohereRerank(body),
    cohereRerankV1: (_, body) => CohereRerank.cohereRerankV1(body)
  }

  it("every operation with a JSON body is tested", () => {
    const withBody = endpoints.filter((endpoint) => jsonOf(endpoint) !== undefined)
    expect(new Set(withBody.map(({ identifier }) => identifier))).toEqual(new Set(Object.keys(calls)))
  })

  for (const [identifier, call] of Object.entries(calls)) {
    const schema = jsonOf(endpoint(identifier)) ?? Schema.Never
    it.effect.prop(
      `${identifier}: the JSON body`,
      [values(schema)],
      ([value]) =>
        Effect.gen(function* () {
          // The arbitrary belongs to this operation, which the type of the record cannot express.
          const sent = yield* sentBy((client) => call(client, value as never))
          expect(JSON.parse(sent?.text ?? "")).toEqual(yield* Schema.encodeUnknownEffect(schema)(value))
        }),
      runs
    )
  }
})
