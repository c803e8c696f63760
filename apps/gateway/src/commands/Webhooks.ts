/** `model-gateway webhooks`: the deliveries of the events of video jobs and of alerts. */
import { type Delivery, DeliveryStatus, DeliveryType } from "@model-gateway/core/Webhooks"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"

const id = Argument.String("delivery").pipe(
  Argument.withDescription("Id of the delivery: the header webhook-id, as webhooks list shows it")
)

const orMissing = Listed.orMissing("delivery")

const list = Operator.command(
  "list",
  {
    limit: Operator.limitFlag("deliveries", 50),
    status: Flag.Literals("status", DeliveryStatus.literals).pipe(
      Flag.withDescription("Only deliveries in this state. Default: all"),
      Flag.optional
    ),
    type: Flag.Literals("type", DeliveryType.literals).pipe(
      Flag.withDescription("Only events of this type. Default: all"),
      Flag.optional
    ),
    video: Flag.String("video").pipe(
      Flag.withMetavar("id"),
      Flag.withDescription("Only events of this video job. Default: of all"),
      Flag.optional
    ),
    workspace: Operator.workspaceOption
  },
  Effect.fn("webhooks list")(function* (input) {
    const { gateway } = yield* Operator.Target
    const filter = {
      workspace_id: yield* Operator.optionalWorkspaceId(input.workspace),
      status: Option.getOrUndefined(input.status),
      type: Option.getOrUndefined(input.type),
      video_id: Option.getOrUndefined(input.video)
    }
    const data = yield* Listed.newest(input.limit, 100, (page) => gateway.listWebhookDeliveries({ ...filter, ...page }))
    return Listed.answer(data, "There are no such deliveries.", {
      TIME: ({ created_at }) => created_at,
      TYPE: ({ type }) => type,
      VIDEO: ({ video_id }) => video_id ?? "none",
      STATUS: ({ status }) => status,
      ATTEMPTS: ({ attempts }) => String(attempts.length),
      LAST: lastText,
      URL: ({ url }) => url,
      DELIVERY: ({ id }) => id
    })
  })
).pipe(
  Command.withDescription("List the deliveries of the events of video jobs and of alerts, newest first"),
  Command.withExamples([{ command: "model-gateway webhooks list --status failed", description: "What was given up" }])
)

const lastText = ({ attempts }: Delivery): string => {
  const last = attempts.at(-1)
  return last === undefined ? "none" : (last.error ?? String(last.status_code))
}

const fields = (delivery: Delivery): string =>
  [
    Output.fields([
      ["delivery", delivery.id],
      ["type", delivery.type],
      ["video", delivery.video_id ?? "none"],
      ["url", delivery.url],
      ["status", delivery.status],
      ["created", delivery.created_at],
      ["next attempt", delivery.next_attempt_at ?? "none"],
      ["finished", delivery.finished_at ?? "not yet"]
    ]),
    ...(delivery.attempts.length === 0
      ? []
      : [
          Listed.table(delivery.attempts, {
            TIME: ({ attempted_at }) => attempted_at,
            STATUS: ({ status_code }) => String(status_code ?? "none"),
            MS: ({ duration_ms }) => String(duration_ms),
            ERROR: ({ error }) => error ?? "",
            RESPONSE: ({ response_excerpt }) => response_excerpt ?? ""
          })
        ])
  ].join("\n\n")

const show = Operator.command(
  "show",
  { id },
  Effect.fn("webhooks show")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.getWebhookDelivery(id))
    return { json: { data }, text: fields(data) }
  })
).pipe(Command.withDescription("Show a delivery and its latest 50 attempts. MS is milliseconds"))

const redeliver = Operator.command(
  "redeliver",
  { id },
  Effect.fn("webhooks redeliver")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.redeliverWebhook(id))
    return { json: { data }, text: `A running gateway sends ${data.id} again, to ${data.url}.` }
  })
).pipe(
  Command.withDescription("Send an event again that was delivered or given up. A running gateway sends it"),
  Command.withShortDescription("Send an event again")
)

const rotateSecret = Operator.command(
  "rotate-secret",
  {
    keepPreviousFor: Flag.Int("keep-previous-for").pipe(
      Flag.withMetavar("seconds"),
      Flag.withDescription(
        "Seconds in which the present secret signs along with the new one, from 0 to 604800. Default: 86400, a day"
      ),
      Flag.filter(
        (seconds) => seconds >= 0 && seconds <= 604_800,
        () => "Expected a number of seconds from 0 to 604800"
      ),
      Flag.withDefault(86_400)
    ),
    workspace: Operator.workspaceOption
  },
  Effect.fn("webhooks rotate-secret")(function* ({ keepPreviousFor, workspace }) {
    const { gateway } = yield* Operator.Target
    const { id, slug } = yield* Operator.workspaceOf(workspace)
    const data = yield* gateway.rotateWebhookSecret(id, { keep_previous_for: keepPreviousFor })
    return {
      json: { data },
      text: [
        `The new secret of the webhooks of workspace ${slug} is shown only once:`,
        "",
        `  ${data.secret}`,
        "",
        data.previous_expires_at === null
          ? "No earlier secret signs any more."
          : `The earlier one signs along with it until ${data.previous_expires_at}.`
      ].join("\n")
    }
  })
).pipe(Command.withDescription("Replace the secret that signs the webhooks of a workspace, and print it, once"))

/** The `webhooks` command. */
export const command = Command.make("webhooks").pipe(
  Command.withDescription(
    "Manage webhooks: the deliveries of the events of video jobs, and the secret that signs them"
  ),
  Command.withShortDescription("Manage the webhooks of video jobs"),
  Command.withSubcommands([list, show, redeliver, rotateSecret])
)
