/**
 * A tool as a value: what it takes and returns as schemas, and what it does as an Effect over the
 * client. `register` turns it into a tool of the protocol.
 */
import type { Gateway } from "@model-gateway/core/Gateway"
import type { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Session } from "../Session.ts"

/** What every error of the client and of the tools has: one line for the agent. */
export interface Failure {
  readonly message: string
}

/** What a call may use besides the client. */
export interface Call {
  /**
   * Tells the agent's program how far the call is, if that asked to be told. `progress` must grow
   * from one report to the next.
   */
  readonly report: (progress: number, message: string) => Effect.Effect<void>
}

/** A file that the agent's program can read, as a link. */
export interface Link {
  readonly uri: string
  readonly name: string
  readonly mimeType: string
}

export interface Result<Output> {
  readonly output: Output
  readonly links?: ReadonlyArray<Link>
}

/** What the protocol tells an agent's program about a tool, for example to ask the user first. */
export interface Hints {
  /** Whether it changes nothing and costs nothing. */
  readonly readOnly: boolean
  /** Whether it may end or delete something. */
  readonly destructive: boolean
  /** Whether a repetition changes and costs nothing more. */
  readonly idempotent: boolean
}

export interface Tool<Input, Output> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Schema.Codec<Input>
  readonly output: Schema.Codec<Output>
  readonly hints: Hints
  readonly run: (input: Input, call: Call) => Effect.Effect<Result<Output>, Failure, Gateway | GatewayClient | Session>
}

/** Infers the types of a tool from its schemas. */
export const make = <Input, Output>(tool: Tool<Input, Output>): Tool<Input, Output> => tool

/** Returns the session of the current request. Fails if the request has none. */
export type CurrentSession = Effect.Effect<Session["Service"], Failure>

/** The schema as a JSON Schema of one object without other fields. */
const jsonSchema = (schema: Schema.Top): Record<string, unknown> => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  return Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
}

const failed = (message: string) =>
  new McpSchema.CallToolResult({ isError: true, content: [{ type: "text", text: message }] })

const succeeded = <Output>({ links = [], output }: Result<Output>) =>
  new McpSchema.CallToolResult({
    structuredContent: output,
    // Programs that do not know structured content read the text.
    content: [
      { type: "text", text: JSON.stringify(output) },
      ...links.map((link) => ({ type: "resource_link" as const, ...link }))
    ]
  })

const progressTokenOf = (
  metadata: Readonly<Record<string, unknown>> | undefined
): McpSchema.ProgressToken | undefined => {
  const token = metadata?.["progressToken"]
  return typeof token === "string" || typeof token === "number" ? token : undefined
}

/** The greatest progress: reports are percentages. */
const total = 100

const callOf = (
  server: McpServer.McpServer["Service"],
  { requestMetadata }: McpSchema.McpRequestContext["Service"]
): Call => {
  const progressToken = progressTokenOf(requestMetadata)
  return {
    report: (progress, message) =>
      progressToken === undefined
        ? Effect.void
        : server.notifications["notifications/progress"]({ progressToken, progress, total, message })
  }
}

/** Adds a tool to the server. */
export const register = <Input, Output>(
  tool: Tool<Input, Output>,
  session: CurrentSession
): Effect.Effect<void, never, McpServer.McpServer> =>
  Effect.gen(function* () {
    const server = yield* McpServer.McpServer
    const decode = Schema.decodeUnknownEffect(tool.input, { errors: "all", onExcessProperty: "error" })
    const inputSchema = yield* Effect.orDie(Schema.decodeUnknownEffect(McpSchema.ToolJson)(jsonSchema(tool.input)))
    const { destructive, idempotent, readOnly } = tool.hints
    yield* server.addTool({
      tool: new McpSchema.Tool({
        name: tool.name,
        title: tool.title,
        description: tool.description,
        inputSchema,
        outputSchema: jsonSchema(tool.output),
        annotations: {
          title: tool.title,
          readOnlyHint: readOnly,
          destructiveHint: destructive,
          idempotentHint: idempotent,
          // Models are at providers, which the gateway calls.
          openWorldHint: true
        }
      }),
      annotations: Context.empty(),
      handle: (payload: unknown) =>
        Effect.gen(function* () {
          const input = yield* Effect.mapError(
            decode(payload ?? {}),
            (error) => new McpSchema.InvalidParams({ message: `${tool.name}: ${error.message}` })
          )
          const request = yield* McpSchema.McpRequestContext
          return yield* Effect.flatMap(session, (current) =>
            tool
              .run(input, callOf(server, request))
              .pipe(Effect.provideService(Session, current), Effect.provideContext(current.gateway))
          ).pipe(
            Effect.matchEffect({
              onSuccess: (result) => Effect.succeed(succeeded(result)),
              onFailure: ({ message }) => Effect.succeed(failed(message))
            })
          )
        }).pipe(
          Effect.catchDefect((defect) =>
            Effect.as(
              Effect.logError(`The tool ${tool.name} failed`, Cause.die(defect)).pipe(
                Effect.annotateLogs("event", "tool_failed")
              ),
              failed(`${tool.name}: internal error. It is in the log of this server.`)
            )
          )
        )
    })
  })
