/** `model-gateway videos`: the video jobs. */
import { type Job, Status } from "@model-gateway/core/Video"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"

const id = Argument.String("video").pipe(Argument.withDescription("Id of the video job"))

const orMissing = Listed.orMissing("video job")

const costText = ({ usage }: Job): string => {
  const cost = usage?.cost ?? undefined
  return cost === undefined ? "unknown" : `${cost}${usage?.is_byok === true ? " (BYOK)" : ""}`
}

const progressText = ({ progress }: Job): string => (progress === undefined ? "" : `${Math.round(progress * 100)} %`)

const list = Operator.command(
  "list",
  {
    limit: Operator.limitFlag("jobs", 50),
    status: Flag.Literals("status", Status.literals).pipe(
      Flag.withDescription("Only jobs in this state. Default: all"),
      Flag.optional
    ),
    workspace: Operator.workspaceOption
  },
  Effect.fn("videos list")(function* ({ limit, status, workspace }) {
    const { gateway } = yield* Operator.Target
    const filter = {
      workspace_id: yield* Operator.optionalWorkspaceId(workspace),
      status: Option.getOrUndefined(status)
    }
    const data = yield* Operator.pages(limit, (after, left) =>
      Effect.map(gateway.listVideos({ ...filter, after, limit: Math.min(left, 1000) }), ({ data, next = null }) => ({
        data,
        next
      }))
    )
    return Listed.answer(data, "There are no such video jobs.", {
      TIME: ({ created_at }) => created_at ?? "",
      MODEL: ({ model }) => model ?? "",
      STATUS: ({ status }) => status,
      PROGRESS: progressText,
      CREDITS: costText,
      VIDEO: ({ id }) => id
    })
  })
).pipe(
  Command.withDescription("List the video jobs of a workspace, newest first. 1 credit is 1 USD"),
  Command.withExamples([
    { command: "model-gateway videos list --status in_progress", description: "What is rendered now" }
  ])
)

const fields = (job: Job): string =>
  Output.fields([
    ["video", job.id],
    ["model", job.model ?? "unknown"],
    ["status", job.status],
    ["progress", progressText(job) || "unknown"],
    ["error", job.error ?? "none"],
    ["credits", costText(job)],
    ["created", job.created_at ?? "unknown"],
    ["generation", job.generation_id ?? "none yet"],
    ...(job.warnings ?? []).map((warning) => ["warning", warning] as const)
  ])

const show = Operator.command(
  "show",
  { id },
  Effect.fn("videos show")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.getVideo(id))
    return { json: data, text: fields(data) }
  })
).pipe(Command.withDescription("Show a video job"))

const cancel = Operator.command(
  "cancel",
  { id },
  Effect.fn("videos cancel")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.cancelVideo(id))
    return { json: data, text: `The video job ${data.id} is ${data.status}.` }
  })
).pipe(Command.withDescription("Cancel a video job that has not ended. What its provider bills is charged"))

/** The `videos` command. */
export const command = Command.make("videos").pipe(
  Command.withDescription("Manage video jobs"),
  Command.withSubcommands([list, show, cancel])
)
