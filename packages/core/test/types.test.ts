import type {
  Activity,
  Byok,
  ClientError,
  CurrentKey,
  Destinations,
  Files,
  FileShapes,
  Gateway,
  GatewayApi,
  GatewayClient,
  GatewayError,
  Generations,
  Guardrails,
  Keys,
  ProviderFiles,
  Rerank,
  Routing,
  Transcription,
  Video,
  VideoProgress,
  Workspaces
} from "@model-gateway/core"
import { Duration, type Effect, type Stream } from "effect"
import type { HttpApiGroup } from "effect/http-api"
import { describe, expectTypeOf, it } from "vitest"
import type { operations } from "./operations.ts"

type Client = Gateway.Gateway["Service"]

type ErrorsOf<A> = A extends (...args: ReadonlyArray<never>) => infer R
  ? ErrorsOf<R>
  : A extends Effect.Effect<infer _A, infer E, infer _R>
    ? E
    : A extends Stream.Stream<infer _A, infer E, infer _R>
      ? E
      : "neither Effect nor Stream"

type ServicesOf<A> = A extends (...args: ReadonlyArray<never>) => infer R
  ? ServicesOf<R>
  : A extends Effect.Effect<infer _A, infer _E, infer R>
    ? R
    : A extends Stream.Stream<infer _A, infer _E, infer R>
      ? R
      : "neither Effect nor Stream"

type AnswerOf<A> = A extends (...args: ReadonlyArray<never>) => infer R
  ? AnswerOf<R>
  : A extends Effect.Effect<infer A, infer _E, infer _R>
    ? A
    : A extends Stream.Stream<infer A, infer _E, infer _R>
      ? A
      : never

interface ByStatus {
  400: GatewayError.BadRequest
  401: GatewayError.Unauthorized
  402: GatewayError.PaymentRequired
  403: GatewayError.Forbidden
  404: GatewayError.NotFound
  413: GatewayError.PayloadTooLarge
  429: GatewayError.TooManyRequests
  500: GatewayError.InternalServerError
  502: GatewayError.BadGateway
  503: GatewayError.ServiceUnavailable
  504: GatewayError.GatewayTimeout
  524: GatewayError.UpstreamTimeout
  529: GatewayError.ProviderOverloaded
}

/** Those statuses' errors, and what never reached a status. */
type Only<S extends keyof ByStatus> =
  | ByStatus[S]
  | ClientError.TransportError
  | ClientError.TimeoutError
  | ClientError.InvalidResponse

/** The errors of each operation by its statuses. */
type Expected = {
  readonly [Op in keyof typeof operations]: Only<(typeof operations)[Op][2][number]>
}

type Groups = (typeof GatewayApi.GatewayApi)["groups"]

type Operations = HttpApiGroup.Endpoints<Groups[keyof Groups]>["identifier"]

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

type IsVague<A> = [unknown] extends [A] ? true : [A] extends [never] ? true : false

describe("the errors of an operation", () => {
  it("of each of the six are exactly its statuses and the client errors [spec V2]", () => {
    expectTypeOf<ErrorsOf<Client["deleteFile"]>>().toEqualTypeOf<Expected["deleteFile"]>()
    expectTypeOf<ErrorsOf<Client["currentKey"]>>().toEqualTypeOf<Expected["currentKey"]>()
    expectTypeOf<ErrorsOf<Client["rerank"]>>().toEqualTypeOf<Expected["rerank"]>()
    expectTypeOf<ErrorsOf<Client["transcribe"]>>().toEqualTypeOf<Expected["transcribe"]>()
    expectTypeOf<ErrorsOf<Client["submitVideo"]>>().toEqualTypeOf<Expected["submitVideo"]>()
    expectTypeOf<ErrorsOf<Client["assignKeys"]>>().toEqualTypeOf<Expected["assignKeys"]>()
  })

  it("of all other operations, too", () => {
    expectTypeOf<keyof Client>().toEqualTypeOf<keyof Expected>()
    expectTypeOf<
      { [Op in keyof Client]: Same<ErrorsOf<Client[Op]>, Expected[Op]> }[keyof Client]
    >().toEqualTypeOf<true>()
  })

  it("of a call are those of its operation", () => {
    type Management = Only<400 | 401 | 403 | 404 | 500>
    expectTypeOf<ErrorsOf<typeof Byok.createByokKey>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Byok.listByokKeys>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Byok.getByokKey>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Byok.updateByokKey>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Byok.deleteByokKey>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Activity.listAllActivity>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Generations.listGenerations>>().toEqualTypeOf<Management>()
    expectTypeOf<ErrorsOf<typeof Generations.getGeneration>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500 | 503>>()
    expectTypeOf<AnswerOf<typeof Generations.getGeneration>>().toEqualTypeOf<Generations.Generation>()
    expectTypeOf<AnswerOf<typeof Byok.createByokKey>>().toEqualTypeOf<Byok.ByokKey>()
    expectTypeOf<ErrorsOf<typeof ProviderFiles.uploadFile<"provider_a">>>().toEqualTypeOf<Expected["uploadFile"]>()
    expectTypeOf<AnswerOf<typeof ProviderFiles.getFile<"provider_a">>>().toEqualTypeOf<
      typeof FileShapes.CompatAFile.Type
    >()
    expectTypeOf<AnswerOf<typeof ProviderFiles.listFiles<"provider_b">>>().toEqualTypeOf<
      typeof FileShapes.CompatBFileList.Type
    >()
    expectTypeOf<ServicesOf<typeof Byok.createByokKey>>().toEqualTypeOf<GatewayClient.GatewayClient>()
  })

  it("are never any, unknown or never, and neither are the responses", () => {
    expectTypeOf<{ [Op in keyof Client]: IsVague<ErrorsOf<Client[Op]>> }[keyof Client]>().toEqualTypeOf<false>()
    expectTypeOf<{ [Op in keyof Client]: IsVague<AnswerOf<Client[Op]>> }[keyof Client]>().toEqualTypeOf<false>()
  })

  it("of the functions are those of the methods", () => {
    expectTypeOf<ErrorsOf<typeof Destinations.createDestination>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500>>()
    expectTypeOf<ErrorsOf<typeof Destinations.listDestinations>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500>>()
    expectTypeOf<ErrorsOf<typeof Destinations.getDestination>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500>>()
    expectTypeOf<ErrorsOf<typeof Destinations.updateDestination>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500>>()
    expectTypeOf<ErrorsOf<typeof Destinations.deleteDestination>>().toEqualTypeOf<Only<400 | 401 | 403 | 404 | 500>>()
  })

  it("of a watched job are those of getVideo", () => {
    expectTypeOf<ErrorsOf<typeof VideoProgress.watch>>().toEqualTypeOf<Expected["getVideo"]>()
    expectTypeOf<ErrorsOf<typeof VideoProgress.awaitFinal>>().toEqualTypeOf<
      Expected["getVideo"] | VideoProgress.NotCompleted
    >()
    expectTypeOf<ServicesOf<typeof VideoProgress.awaitFinal>>().toEqualTypeOf<GatewayClient.GatewayClient>()
  })

  it("have their status as a literal type", () => {
    expectTypeOf<GatewayError.TooManyRequests["error"]["code"]>().toEqualTypeOf<429>()
    expectTypeOf<GatewayError.GatewayError["error"]["code"]>().toEqualTypeOf<keyof ByStatus>()
    expectTypeOf<GatewayError.GatewayError>().toEqualTypeOf<ByStatus[keyof ByStatus]>()
  })
})

describe("a request", () => {
  it("accepts documents from elsewhere: mutable and readonly arrays, texts and objects", () => {
    const typed = (
      client: Client,
      texts: Array<string>,
      frozen: ReadonlyArray<string>,
      mixed: Array<Rerank.Document>
    ) => [
      client.rerank({ model: "m", query: "q", documents: texts }),
      client.rerank({ model: "m", query: "q", documents: frozen }),
      client.rerank({ model: "m", query: "q", documents: mixed }),
      client.rerank({ model: "m", query: "q", documents: texts.map((text) => ({ text })) })
    ]
    expectTypeOf(typed).toBeFunction()
  })

  it("accepts undefined in every optional field", () => {
    type Optional<T> = { [Field in keyof T]-?: object extends Pick<T, Field> ? Field : never }[keyof T]
    type Refusing<T> = { [Field in Optional<T>]: undefined extends T[Field] ? never : Field }[Optional<T>]
    expectTypeOf<Refusing<Byok.CreateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Byok.UpdateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Destinations.CreateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Destinations.UpdateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Files.Upload>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Guardrails.CreateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Guardrails.UpdateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Keys.CreateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Keys.UpdateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Keys.EphemeralRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Rerank.Request>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<NonNullable<Rerank.Request["provider"]>>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Routing.Preferences>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Transcription.Input>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Video.Request>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Workspaces.CreateRequest>>().toEqualTypeOf<never>()
    expectTypeOf<Refusing<Workspaces.UpdateRequest>>().toEqualTypeOf<never>()
    const typed = (client: Client, top_n: number | undefined, order: Array<string> | undefined) =>
      client.rerank({ model: "m", query: "q", documents: ["d"], top_n, provider: { order, max_price: undefined } })
    expectTypeOf(typed).toBeFunction()
  })

  it("accepts durations in any form", () => {
    const typed = (client: Client) => [
      client.getVideo("v", { wait: "30 seconds" }),
      client.getVideo("v", { wait: Duration.seconds(30) }),
      client.getVideo("v", { wait: undefined })
    ]
    expectTypeOf(typed).toBeFunction()
  })
})

describe("an operation", () => {
  it("is a method", () => {
    expectTypeOf<keyof Client>().toEqualTypeOf<Operations>()
  })

  it("needs no services", () => {
    expectTypeOf<{ [Op in keyof Client]: ServicesOf<Client[Op]> }[keyof Client]>().toEqualTypeOf<never>()
  })

  it("returns what the contract says", () => {
    expectTypeOf<AnswerOf<Client["deleteFile"]>>().toEqualTypeOf<Files.Deletion>()
    expectTypeOf<AnswerOf<Client["currentKey"]>>().toEqualTypeOf<CurrentKey.KeyRecord>()
    expectTypeOf<AnswerOf<Client["rerank"]>>().toEqualTypeOf<Rerank.Response>()
    expectTypeOf<AnswerOf<Client["transcribe"]>>().toEqualTypeOf<Transcription.Response>()
    expectTypeOf<AnswerOf<Client["submitVideo"]>>().toEqualTypeOf<Video.Job>()
    expectTypeOf<AnswerOf<Client["fileContent"]>>().toEqualTypeOf<Uint8Array>()
  })

  it("of an ephemeral key is one that an ordinary key may call", () => {
    type Rows = typeof operations
    type Callable = { [Op in keyof Rows]: Rows[Op][3] extends "management key" ? never : Op }[keyof Rows]
    expectTypeOf<Keys.EphemeralOperation>().toEqualTypeOf<Exclude<Callable, "createEphemeralKey">>()
  })

  it("accepts only the fields of its request", () => {
    const typed = (client: Client) => {
      void client.rerank({ model: "m", query: "q", documents: ["d", { text: "t" }] })
      // @ts-expect-error no such field
      void client.rerank({ model: "m", query: "q", documents: ["d"], topN: 1 })
      // @ts-expect-error no such ratio
      void client.submitVideo({ model: "m", aspect_ratio: "16:10" })
      // @ts-expect-error either the audio in base64 or a file
      void client.transcribe({ model: "m" })
      // @ts-expect-error not both
      void client.transcribe({ model: "m", file: new Blob([]), input_audio: { data: "AAAA", format: "wav" } })
      // @ts-expect-error at least one hash
      void client.assignKeys("g", { key_hashes: [] })
    }
    expectTypeOf(typed).toBeFunction()
  })
})

/** `GET /models/{id}/endpoints` describes one model, and its endpoints with it. */
type Lists = Exclude<Extract<keyof Client, `list${string}`>, "listModelEndpoints">

describe("the lists", () => {
  it("return their items in data", () => {
    expectTypeOf<{ [Name in Lists]: AnswerOf<Client[Name]> }>().toExtend<{
      [Name in Lists]: { readonly data: ReadonlyArray<unknown> }
    }>()
  })
})
