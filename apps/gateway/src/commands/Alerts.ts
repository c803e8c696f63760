/** `model-gateway alerts`: rules that watch the gateway, and when they fired. */
import { type Alert, type CreateRequest, Kind, Target, type UpdateRequest } from "@model-gateway/core/Alerts"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Change from "../Change.ts"
import { UsageError } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"
import * as Keys from "./Keys.ts"

const id = Argument.String("alert").pipe(Argument.withDescription("Id of the alert, as alerts list shows it"))

const orMissing = Listed.orMissing("alert")

const fields = (alert: Alert): string =>
  Output.fields([
    ["alert", alert.id],
    ["name", alert.name],
    ["kind", alert.kind],
    ["threshold", String(alert.threshold)],
    ...(alert.window_seconds === null ? [] : [["window", `${alert.window_seconds} seconds`] as const]),
    ...(alert.min_requests === null ? [] : [["least requests", String(alert.min_requests)] as const]),
    ["workspace", alert.workspace_id ?? "all"],
    ...(alert.key_hash === null ? [] : [["key", alert.key_hash] as const]),
    ...(alert.guardrail_id === null ? [] : [["guardrail", alert.guardrail_id] as const]),
    ...(alert.model === null ? [] : [["model", alert.model] as const]),
    ...(alert.provider === null ? [] : [["provider", alert.provider] as const]),
    ["sends to", `${alert.target.type} ${alert.target.url}`],
    ["state", alert.enabled ? alert.state : "switched off"],
    ["measured", alert.last_value === null ? "nothing" : `${alert.last_value} at ${alert.last_evaluated_at ?? ""}`]
  ])

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const create = Operator.command(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("Name of the alert, at most 256 characters")),
    kind: Flag.Literals("kind", Kind.literals).pipe(Flag.withDescription("What it watches")),
    threshold: Flag.Finite("threshold").pipe(
      Flag.withDescription(
        "When it fires: a share from 0.01 to 1 (budget_used, failed_share), credits, seconds (circuit_open), days (key_expires) or a number"
      )
    ),
    url: Flag.String("target-url").pipe(
      Flag.withDescription("Where it sends: an https:// URL. Other users of the machine can see it")
    ),
    type: Flag.Literals("target-type", Target.fields.type.literals).pipe(
      Flag.withDescription("A signed webhook, or a text in the form of Slack. Default: webhook"),
      Flag.withDefault("webhook" as const)
    ),
    window: Flag.Int("window").pipe(
      Flag.withMetavar("seconds"),
      Flag.withDescription("Of failed_share: the seconds whose requests count, 60 to 86400. Default: 300"),
      Flag.optional
    ),
    minRequests: Flag.Int("min-requests").pipe(
      Flag.withDescription("Of failed_share: the fewest requests with which it fires. Default: 20"),
      Flag.optional
    ),
    key: text("key", "Hash of the key that it watches, or its first 8 characters or more. Default: none in particular"),
    guardrail: text("guardrail", "Id of the guardrail that it watches. Default: none"),
    model: text("model", "Model that it watches. Default: none in particular"),
    provider: text("provider", "Of circuit_open: the provider. Default: any"),
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("Slug or id of the workspace that it watches. Default: all"),
      Flag.optional
    )
  },
  Effect.fn("alerts create")(function* (input) {
    const { gateway } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(input.workspace)
    const key = Option.isSome(input.key) ? yield* Keys.find(input.key.value) : undefined
    const request: CreateRequest = {
      name: input.name,
      kind: input.kind,
      threshold: input.threshold,
      window_seconds: Option.getOrUndefined(input.window),
      min_requests: Option.getOrUndefined(input.minRequests),
      key_hash: key?.hash,
      guardrail_id: Option.getOrUndefined(input.guardrail),
      model: Option.getOrUndefined(input.model),
      provider: Option.getOrUndefined(input.provider),
      workspace_id: workspaceId,
      target: { type: input.type, url: input.url }
    }
    const data = yield* gateway.createAlert(request)
    return { json: { data }, text: fields(data) }
  })
).pipe(
  Command.withDescription("Create an alert. A running gateway evaluates it within a minute"),
  Command.withShortDescription("Create an alert"),
  Command.withExamples([
    {
      command:
        "model-gateway alerts create --name Credits --kind credits_left --threshold 20 --workspace default --target-url https://hooks.example/alerts",
      description: "A signed webhook when the workspace has less than 20 credits"
    }
  ])
)

const unchanged = "Default: as it is"

const update = Operator.command(
  "update",
  {
    id,
    changes: {
      name: text("name", `The new name, at most 256 characters. ${unchanged}`),
      threshold: Flag.Finite("threshold").pipe(
        Flag.withDescription(`When it fires, in the unit of its kind. ${unchanged}`),
        Flag.optional
      ),
      "target-url": text(
        "target-url",
        `Where it sends: an https:// URL. Other users of the machine can see it. ${unchanged}`
      ),
      "target-type": Flag.Literals("target-type", Target.fields.type.literals).pipe(
        Flag.withDescription("With --target-url: the form of the message. Default: as it is"),
        Flag.optional
      ),
      window: Flag.Int("window").pipe(
        Flag.withMetavar("seconds"),
        Flag.withDescription(`Of failed_share: the seconds whose requests count, 60 to 86400. ${unchanged}`),
        Flag.optional
      ),
      "min-requests": Flag.Int("min-requests").pipe(
        Flag.withDescription(`Of failed_share: the fewest requests with which it fires. ${unchanged}`),
        Flag.optional
      ),
      key: text("key", `Hash of the key that it watches, or its first 8 characters or more. ${unchanged}`),
      guardrail: text("guardrail", `Id of the guardrail that it watches. ${unchanged}`),
      model: text("model", `Model that it watches. ${unchanged}`),
      provider: text("provider", `Of circuit_open: the provider. ${unchanged}`),
      workspace: Operator.workspaceFlag.pipe(
        Flag.withDescription(`Slug or id of the workspace that it watches. ${unchanged}`),
        Flag.optional
      ),
      enabled: Change.yesOrNo("enabled").pipe(
        Flag.withDescription(`Whether it is evaluated. ${unchanged}`),
        Flag.optional
      )
    },
    unset: Change.unsetFlag(["key", "guardrail", "model", "provider", "workspace"])
  },
  Effect.fn("alerts update")(function* ({ changes, id, unset }) {
    const { gateway } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(changes.workspace)
    const key = Option.isSome(changes.key) ? yield* Keys.find(changes.key.value) : undefined
    const url = Option.getOrUndefined(changes["target-url"])
    const former = url === undefined ? undefined : (yield* orMissing(gateway.getAlert(id))).target
    const type = Option.getOrElse(changes["target-type"], () => (former?.type === "slack" ? "slack" : "webhook"))
    const request: UpdateRequest = {
      name: Option.getOrUndefined(changes.name),
      threshold: Option.getOrUndefined(changes.threshold),
      window_seconds: Option.getOrUndefined(changes.window),
      min_requests: Option.getOrUndefined(changes["min-requests"]),
      key_hash: unset.includes("key") ? null : key?.hash,
      guardrail_id: Change.valueOf(changes.guardrail, unset.includes("guardrail")),
      model: Change.valueOf(changes.model, unset.includes("model")),
      provider: Change.valueOf(changes.provider, unset.includes("provider")),
      workspace_id: unset.includes("workspace") ? null : workspaceId,
      target: url === undefined ? undefined : { type, url },
      enabled: Option.getOrUndefined(changes.enabled)
    }
    const data = yield* orMissing(gateway.updateAlert(id, request))
    return { json: { data }, text: fields(data) }
  }),
  Effect.fnUntraced(function* ({ changes, unset }) {
    yield* Change.check(changes, unset)
    if (Option.isSome(changes["target-type"]) && Option.isNone(changes["target-url"])) {
      return yield* new UsageError({ message: "--target-type needs --target-url: the gateway does not show the URL." })
    }
  })
).pipe(
  Command.withDescription("Change an alert. What it watches can be changed, its kind cannot"),
  Command.withShortDescription("Change an alert"),
  Command.withExamples([
    { command: "model-gateway alerts update <id> --threshold 50", description: "Another bound" },
    { command: "model-gateway alerts update <id> --enabled no", description: "Switch it off for now" },
    { command: "model-gateway alerts update <id> --unset workspace", description: "Watch all workspaces" }
  ])
)

const list = Operator.command(
  "list",
  {},
  Effect.fn("alerts list")(function* () {
    const { gateway } = yield* Operator.Target
    // An organization has at most 100.
    const { data } = yield* gateway.listAlerts({ limit: 100 })
    return Listed.answer(data, "There are no alerts. Create one with model-gateway alerts create.", {
      NAME: ({ name }) => name,
      KIND: ({ kind }) => kind,
      THRESHOLD: ({ threshold }) => String(threshold),
      VALUE: ({ last_value }) => String(last_value ?? "none"),
      STATE: ({ enabled, state }) => (enabled ? state : "switched off"),
      SENDS_TO: ({ target }) => target.url,
      ALERT: ({ id }) => id
    })
  })
).pipe(Command.withDescription("List the alerts, newest first"))

const show = Operator.command(
  "show",
  { id },
  Effect.fn("alerts show")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.getAlert(id))
    return { json: { data }, text: fields(data) }
  })
).pipe(Command.withDescription("Show an alert, its state and what was measured last"))

const test = Operator.command(
  "test",
  { id },
  Effect.fn("alerts test")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.testAlert(id))
    return {
      json: { data },
      text: `A running gateway sends the test ${data.id} to ${data.url}. See it with model-gateway webhooks show ${data.id}.`
    }
  })
).pipe(Command.withDescription("Send a message that says that it is a test. A running gateway sends it"))

const remove = Operator.command(
  "delete",
  { id },
  Effect.fn("alerts delete")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    yield* orMissing(gateway.deleteAlert(id))
    return { json: { deleted: true, id }, text: `Deleted the alert ${id}.` }
  })
).pipe(Command.withDescription("Delete an alert. If it is firing, it resolves first. Its firings are kept"))

const firings = Operator.command(
  "firings",
  { limit: Operator.limitFlag("firings", 50) },
  Effect.fn("alerts firings")(function* ({ limit }) {
    const { gateway } = yield* Operator.Target
    const data = yield* Listed.newest(limit, 100, (page) => gateway.listAlertFirings(page))
    return Listed.answer(data, "No alert has fired.", {
      FIRED: ({ fired_at }) => fired_at,
      RESOLVED: ({ resolved_at }) => resolved_at ?? "not yet",
      NAME: ({ alert_name }) => alert_name,
      MESSAGE: ({ message }) => message,
      DELIVERY: ({ fired_delivery }) => fired_delivery?.status ?? "not kept"
    })
  })
).pipe(Command.withDescription("List when alerts fired and resolved, newest first"))

/** The `alerts` command. */
export const command = Command.make("alerts").pipe(
  Command.withDescription("Manage alerts, which send a message when something needs attention"),
  Command.withSubcommands([create, list, show, update, test, remove, firings])
)
