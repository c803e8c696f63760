/** `model-gateway requests`: the request log. */
import { type Entry, PaidOperation, Status } from "@model-gateway/core/Generations"
import type { RejectedRequest } from "@model-gateway/core/RejectedRequests"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Failure } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"
import * as TimeFlag from "../TimeFlag.ts"
import * as Keys from "./Keys.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const httpStatus = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("number"),
    Flag.withDescription(`Only requests that ${description} this HTTP status, from 400 to 599. Default: all`),
    Flag.filter(
      (status) => status >= 400 && status <= 599,
      () => "Expected a number from 400 to 599"
    ),
    Flag.optional
  )

const noneFound = "There are no such requests."

/** The flags of the requests of a key, a workspace and a time. */
const scope = {
  key: Flag.String("key").pipe(
    Flag.withMetavar("hash"),
    Flag.withDescription("Only requests of this key: the first 8 characters of its hash or more. Default: all"),
    Flag.filter(Keys.isKey, () => Keys.expected),
    Flag.optional
  ),
  workspace: Operator.workspaceFlag.pipe(
    Flag.withDescription("Only requests of this workspace: its slug or id. Default: all"),
    Flag.optional
  ),
  from: TimeFlag.makeWithDay("from").pipe(
    Flag.withDescription("Only requests at this time or later, in ISO 8601: 2027-01-31T10:00:00Z. Default: all"),
    Flag.optional
  ),
  to: TimeFlag.makeWithDay("to").pipe(
    Flag.withDescription("Only requests before this time. Default: all"),
    Flag.optional
  )
} as const

const scopeOf = Effect.fnUntraced(function* (input: Command.Command.Config.Infer<typeof scope>) {
  return {
    workspace_id: yield* Operator.optionalWorkspaceId(input.workspace),
    key_hash: Option.isNone(input.key) ? undefined : (yield* Keys.find(input.key.value)).hash,
    from: Option.getOrUndefined(Option.map(input.from, TimeFlag.format)),
    to: Option.getOrUndefined(Option.map(input.to, TimeFlag.format))
  }
})

const resultText = ({ error_status, status }: Entry): string =>
  error_status === null ? status : `${status} (${error_status})`

const list = Operator.command(
  "list",
  {
    limit: Operator.limitFlag("requests", 50),
    status: Flag.Literals("status", Status.literals).pipe(
      Flag.withDescription("Only requests that ended like this. Default: all"),
      Flag.optional
    ),
    errorStatus: httpStatus("error-status", "failed with"),
    operation: Flag.Literals("operation", PaidOperation.literals).pipe(
      Flag.withDescription("Only requests of this operation. Default: all"),
      Flag.optional
    ),
    model: text("model", "id", "Only requests for this model. Default: all"),
    provider: text(
      "provider",
      "name",
      "Only requests that this provider served, or was the last to be tried for. Default: all"
    ),
    user: text("user", "id", "Only requests that name this end user. Default: all"),
    ...scope
  },
  Effect.fn("requests list")(function* (input) {
    const { gateway } = yield* Operator.Target
    const filter = {
      ...(yield* scopeOf(input)),
      status: Option.getOrUndefined(input.status),
      error_status: Option.getOrUndefined(input.errorStatus),
      operation: Option.getOrUndefined(input.operation),
      model: Option.getOrUndefined(input.model),
      provider: Option.getOrUndefined(input.provider),
      user: Option.getOrUndefined(input.user)
    }
    const data = yield* Operator.pages(input.limit, (after, limit) =>
      gateway.listGenerations({ ...filter, after, limit: Math.min(limit, 1000) })
    )
    return Listed.answer(data, noneFound, {
      TIME: ({ created_at }) => created_at,
      OPERATION: ({ operation }) => operation,
      MODEL: ({ model }) => model,
      PROVIDER: ({ provider }) => provider ?? "none",
      RESULT: resultText,
      CREDITS: ({ cost }) => String(cost),
      MS: ({ duration_ms }) => String(duration_ms),
      REQUEST: ({ id, request_id }) => request_id ?? id
    })
  })
).pipe(
  Command.withDescription(
    "List the paid requests that have ended, newest first. CREDITS is the cost (1 credit is 1 USD), MS the milliseconds from admission to end"
  ),
  Command.withShortDescription("List the paid requests that have ended"),
  Command.withExamples([
    {
      command: "model-gateway requests list --status failed --from 2027-01-31T10:00:00Z",
      description: "What has failed since then"
    },
    { command: "model-gateway requests list --key 3f9a1c0e --json", description: "The requests of a key, for a script" }
  ])
)

const fields = (entry: Entry, slugOf: (id: string) => string): string =>
  [
    Output.fields([
      ["request", entry.request_id ?? "unknown"],
      ["generation", entry.id],
      ["time", entry.created_at],
      ["operation", entry.operation],
      ["model", entry.model],
      ["result", resultText(entry)],
      ...(typeof entry.error_message === "string" ? [["message", entry.error_message] as const] : []),
      ["provider", entry.provider ?? "none"],
      ["model there", entry.upstream_model ?? "none"],
      ["cost", `${entry.cost} credits${entry.is_byok ? ", billed to the owner of the provider key" : ""}`],
      ["duration", `${entry.duration_ms} ms`],
      ["workspace", slugOf(entry.workspace_id)],
      ["key", entry.key_hash],
      ["end user", entry.external_user ?? "none"],
      ...Object.entries(entry.trace ?? {}).map(([name, value]) => [name.replaceAll("_", " "), value] as const),
      ...(entry.video_id === null ? [] : [["video job", entry.video_id] as const]),
      ...Object.entries(entry.usage).map(([name, count]) => [name.replaceAll("_", " "), String(count)] as const)
    ]),
    ...(entry.attempts.length === 0
      ? ["No provider was called."]
      : [
          Listed.table(entry.attempts, {
            PROVIDER: ({ provider }) => provider,
            OUTCOME: ({ outcome }) => outcome,
            STATUS: ({ status }) => String(status ?? ""),
            SECONDS: ({ seconds }) => String(seconds),
            BILLED: ({ billed }) => billed
          })
        ])
  ].join("\n\n")

const rejectedFields = (request: RejectedRequest, slugOf: (id: string | null) => string): string =>
  Output.fields([
    ["request", request.request_id],
    ["time", request.created_at],
    ["operation", request.operation],
    ["model", request.model ?? "none"],
    ["result", `rejected (${request.status})`],
    ["message", request.message ?? "none"],
    ["duration", `${request.duration_ms} ms`],
    ["workspace", slugOf(request.workspace_id)],
    ["key", request.key_hash ?? "none"],
    ["address", request.address]
  ])

/** The entries of a request id, newest first, and its record if it was rejected. */
const ofRequest = Effect.fnUntraced(function* (id: string) {
  const { gateway } = yield* Operator.Target
  const entries = yield* Operator.pages(Number.POSITIVE_INFINITY, (after) =>
    gateway.listGenerations({ request_id: id, after, limit: 1000 })
  )
  const rejected =
    entries.length > 0
      ? []
      : yield* Operator.pages(1, (after) => gateway.listRejectedRequests({ request_id: id, after, limit: 1 }))
  return { entries, rejected }
})

/** The entry of a generation id, which is the one of its time. */
const ofGeneration = Effect.fnUntraced(function* (id: string) {
  const { gateway } = yield* Operator.Target
  const { created_at: from } = yield* gateway
    .getGeneration(id)
    .pipe(Effect.catchTag("NotFound", () => Effect.fail(missing(id))))
  const to = TimeFlag.format(Date.parse(from) + 1)
  const entries = yield* Operator.pages(Number.POSITIVE_INFINITY, (after) =>
    gateway.listGenerations({ from, to, after, limit: 1000 })
  )
  return entries.filter((entry) => entry.id === id)
})

const missing = (id: string): Failure =>
  new Failure({
    message:
      `There is no request ${Output.printable(Output.shortened(id))} among the paid requests that have ended, ` +
      "nor among the latest that were rejected."
  })

const rejected = Operator.command(
  "rejected",
  {
    limit: Operator.limitFlag("requests", 50),
    status: httpStatus("status", "were answered with"),
    ...scope
  },
  Effect.fn("requests rejected")(function* (input) {
    const { gateway } = yield* Operator.Target
    const filter = { ...(yield* scopeOf(input)), status: Option.getOrUndefined(input.status) }
    const data = yield* Operator.pages(input.limit, (after, limit) =>
      gateway.listRejectedRequests({ ...filter, after, limit: Math.min(limit, 1000) })
    )
    return Listed.answer(data, noneFound, {
      TIME: ({ created_at }) => created_at,
      OPERATION: ({ operation }) => operation,
      STATUS: ({ status }) => String(status),
      MESSAGE: ({ message }) => message ?? "",
      ADDRESS: ({ address }) => address,
      REQUEST: ({ request_id }) => request_id
    })
  })
).pipe(
  Command.withDescription(
    "List the requests that failed before they were admitted, such as those with a wrong key, newest first"
  ),
  Command.withShortDescription("List the requests that were rejected"),
  Command.withExamples([
    { command: "model-gateway requests rejected --status 429", description: "Who was above the rate limit" }
  ])
)

const show = Operator.command(
  "show",
  {
    id: Argument.String("id").pipe(
      Argument.withDescription(
        "The request id (req_…), which the caller has from the header x-request-id or from an error, or the generation id (gen-…)"
      )
    )
  },
  Effect.fn("requests show")(function* ({ id }) {
    // A caller may choose the id of a request, so its form says nothing.
    const found = yield* ofRequest(id)
    const { entries, rejected } =
      found.entries.length + found.rejected.length > 0 ? found : { ...found, entries: yield* ofGeneration(id) }
    if (entries.length + rejected.length === 0) return yield* missing(id)
    const slugOf = yield* Operator.slugs
    return {
      json: { data: entries, rejected },
      text: [
        ...entries.map((entry) => fields(entry, slugOf)),
        ...rejected.map((each) => rejectedFields(each, slugOf))
      ].join("\n\n")
    }
  })
).pipe(
  Command.withDescription("Show what happened to a request: who sent it, which providers were tried, and what it cost"),
  Command.withShortDescription("Show what happened to a request"),
  Command.withExamples([
    {
      command: "model-gateway requests show req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
      description: "By the id that the caller got"
    }
  ])
)

/** The `requests` command. */
export const command = Command.make("requests").pipe(
  Command.withDescription("Read the request log: the paid requests that have ended, and those that were rejected"),
  Command.withShortDescription("Read the request log"),
  Command.withSubcommands([list, show, rejected])
)
