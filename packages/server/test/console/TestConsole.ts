/** A browser's requests to the console of a test's gateway. */
import { Effect, Schema } from "effect"
import { type Answer, TestGateway } from "../TestGateway.ts"

/** What a page of the gateway sends with a request that changes something. */
export const pageHeaders = (port: number) => ({
  origin: `http://127.0.0.1:${port}`,
  "sec-fetch-site": "same-origin",
  "x-model-gateway-console": "1",
  "content-type": "application/json"
})

/** A request of the page, with the cookie if there is one. */
export const page = (
  path: string,
  {
    body,
    cookie,
    headers,
    method
  }: {
    readonly method?: string
    readonly cookie?: string | undefined
    readonly body?: object | undefined
    readonly headers?: Record<string, string>
  } = {}
) =>
  Effect.gen(function* () {
    const { ask, port } = yield* TestGateway
    return yield* ask(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      key: null,
      headers: { ...pageHeaders(port), ...(cookie === undefined ? {} : { cookie }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body)
    })
  })

/** The name and value of the cookie that an answer sets. */
export const cookieOf = ({ headers }: Answer): string => headers["set-cookie"]?.[0]?.split(";")[0] ?? ""

/** Signs in, and returns the cookie. */
export const signIn = (credential: { readonly key: string } | { readonly token: string }) =>
  Effect.flatMap(page("/console/session", { body: credential }), (answer) =>
    answer.status === 200 ? Effect.succeed(cookieOf(answer)) : Effect.die(new Error(`${answer.status}: ${answer.text}`))
  )

const Shown = Schema.fromJsonString(
  Schema.Struct({
    session: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
    reason: Schema.optional(Schema.String),
    message: Schema.optional(Schema.String),
    ways: Schema.optional(Schema.Array(Schema.Unknown))
  })
)

/** The answer of GET `/console/session` for the cookie. */
export const shownOf = (options?: Parameters<typeof page>[1]) =>
  Effect.map(page("/console/session", options), ({ status, text }) => ({
    status,
    ...Schema.decodeUnknownSync(Shown)(text)
  }))

const Failure = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.String,
      metadata: Schema.optional(Schema.Record(Schema.String, Schema.Unknown))
    })
  })
)

/** The status, the reason and the message of an error. */
export const failureOf = ({ status, text }: Answer) => {
  const { error } = Schema.decodeUnknownSync(Failure)(text)
  return { status, reason: error.metadata?.["reason"], message: error.message }
}
