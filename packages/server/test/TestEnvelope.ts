/** Helpers of tests over HTTP: read error envelopes, send JSON. */
import { all, type Route } from "../src/http/Routes.ts"
import { Effect, Schema } from "effect"
import { type Answer, type Ask, TestGateway } from "./TestGateway.ts"

/** An error envelope, with every field that this service always sends. */
export const Envelope = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Int,
    message: Schema.NonEmptyString,
    metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
  }),
  service_metadata: Schema.Struct({ request_id: Schema.NonEmptyString }),
  user_id: Schema.NullOr(Schema.String)
})

const decodeEnvelope = Schema.decodeUnknownSync(Schema.fromJsonString(Envelope))

const Issues = Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))

const isIssues = Schema.is(Issues)

/** The envelope of a response. Throws unless code and request id agree with status and header. */
export const envelopeOf = (answer: Answer): typeof Envelope.Type => {
  const envelope = decodeEnvelope(answer.text)
  if (envelope.error.code !== answer.status) {
    throw new Error(`code ${envelope.error.code} in an answer of status ${answer.status}`)
  }
  if (envelope.service_metadata.request_id !== answer.headers["x-request-id"]) {
    throw new Error("another request id in the envelope than in the header")
  }
  return envelope
}

/** The paths of an envelope's issues. */
export const issuePaths = (answer: Answer): ReadonlyArray<string> => {
  const issues = envelopeOf(answer).error.metadata?.["issues"]
  return isIssues(issues) ? issues.map(({ path }) => path) : []
}

/** Sends a JSON body. */
export const post = (path: string, body: unknown, ask?: Ask) =>
  Effect.flatMap(TestGateway, (gateway) =>
    gateway.ask(path, {
      method: "POST",
      ...ask,
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", ...ask?.headers }
    })
  )

/** An operation of the contract by its name. */
export const operation = (name: string): Route => {
  const found = all.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found
}

/** Fails unless the operation declares the status, and unless every error is an envelope. */
export const inSet = (name: string, answer: Answer): void => {
  const { errors, success } = operation(name)
  if (success.has(answer.status)) return
  if (!errors.has(answer.status))
    throw new Error(`${name} answered ${answer.status}, outside of its set: ${answer.text}`)
  envelopeOf(answer)
}
