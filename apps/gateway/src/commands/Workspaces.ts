/** `model-gateway workspaces`: manages the workspaces, which own keys, files, credits and jobs. */
import { DeletionShape } from "@model-gateway/core/Files"
import { HttpsUrl, Name } from "@model-gateway/core/Identifiers"
import { Slug, type Workspace } from "@model-gateway/core/Workspaces"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Change from "../Change.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"

const ref = Argument.String("workspace").pipe(Argument.withDescription("Slug or id of the workspace"))

const fields = (workspace: Workspace): string =>
  Output.fields([
    ["name", workspace.name],
    ["slug", workspace.slug],
    ["id", workspace.id],
    ["description", workspace.description ?? "none"],
    ["credits", String(workspace.credits)],
    ["default", workspace.is_default ? "yes" : "no"],
    ["webhooks to", workspace.default_callback_url ?? "none"],
    ["created", workspace.created_at]
  ])

const list = Operator.command(
  "list",
  {},
  Effect.fn("workspaces list")(function* () {
    const { gateway } = yield* Operator.Target
    const data = yield* Operator.all((page) => gateway.listWorkspaces({ ...page, limit: 100 }))
    return {
      json: { data },
      text: Listed.table(data, {
        SLUG: ({ slug }) => slug,
        NAME: ({ name }) => name,
        CREDITS: ({ credits }) => String(credits),
        DEFAULT: ({ is_default }) => (is_default ? "yes" : ""),
        CREATED: ({ created_at }) => created_at,
        ID: ({ id }) => id
      })
    }
  })
).pipe(Command.withDescription("List the workspaces and their credits, in the order of creation. 1 credit is 1 USD"))

const show = Operator.command(
  "show",
  {
    workspace: Argument.String("workspace").pipe(
      Argument.withDescription("Slug or id of the workspace. Default: the default workspace"),
      Argument.optional
    )
  },
  Effect.fn("workspaces show")(function* ({ workspace }) {
    const data = yield* Operator.workspaceOf(workspace)
    return { json: { data }, text: fields(data) }
  })
).pipe(Command.withDescription("Show a workspace"))

const isSlug = Schema.is(Slug)

const slugExpected = () => "Expected lower-case letters, digits and single hyphens, at most 64, and no UUID"

/** The flags of what a workspace has. The texts say what it has without the flag. */
const optionFlags = (byDefault: Record<"name" | "description" | "callbackUrl" | "fileShape", string>) => ({
  name: Flag.String("name").pipe(
    Flag.withMetavar("text"),
    Flag.withDescription(`The name that people see: 1 to 256 characters. Default: ${byDefault.name}`),
    Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
    Flag.optional
  ),
  description: Flag.String("description").pipe(
    Flag.withMetavar("text"),
    Flag.withDescription(`What it is for: at most 1024 characters. Default: ${byDefault.description}`),
    Flag.optional
  ),
  "callback-url": Flag.String("callback-url").pipe(
    Flag.withMetavar("url"),
    Flag.withDescription(
      `Where webhooks of video jobs go whose requests name no URL: https only. Default: ${byDefault.callbackUrl}`
    ),
    Flag.filter(Schema.is(HttpsUrl), () => "Expected an https URL"),
    Flag.optional
  ),
  "file-shape": Flag.Literals("file-shape", DeletionShape.literals).pipe(
    Flag.withDescription(
      `Form of the confirmation that a file was deleted, if its request chooses none. Default: ${byDefault.fileShape}`
    ),
    Flag.optional
  )
})

const create = Operator.command(
  "create",
  {
    slug: Argument.String("slug").pipe(
      Argument.withDescription("Its short name: lower-case letters, digits and single hyphens, at most 64"),
      Argument.filter(isSlug, slugExpected)
    ),
    options: optionFlags({ name: "the slug", description: "none", callbackUrl: "none", fileShape: "native" })
  },
  Effect.fn("workspaces create")(function* ({ options, slug }) {
    const { gateway } = yield* Operator.Target
    const data = yield* gateway.createWorkspace({
      slug,
      name: Option.getOrElse(options.name, () => slug),
      description: Option.getOrNull(options.description),
      default_callback_url: Option.getOrNull(options["callback-url"]),
      file_shape: Option.getOrUndefined(options["file-shape"])
    })
    return {
      json: { data },
      text: `${fields(data)}\n\nAdd credits with model-gateway credits add --workspace ${slug}.`
    }
  })
).pipe(
  Command.withDescription("Create a workspace. It has no credits yet"),
  Command.withExamples([
    { command: 'model-gateway workspaces create search-team --name "Search team"', description: "A workspace" }
  ])
)

const unchanged = "as it is"

const update = Operator.command(
  "update",
  {
    workspace: ref,
    changes: {
      ...optionFlags({
        name: unchanged,
        description: unchanged,
        callbackUrl: unchanged,
        fileShape: unchanged
      }),
      slug: Flag.String("slug").pipe(
        Flag.withMetavar("slug"),
        Flag.withDescription(
          `Its new short name. Requests that name the workspace by the former one get a 404. Default: ${unchanged}`
        ),
        Flag.filter(isSlug, slugExpected),
        Flag.optional
      )
    },
    unset: Change.unsetFlag(["description", "callback-url"])
  },
  Effect.fn("workspaces update")(function* ({ changes, unset, workspace }) {
    const { gateway } = yield* Operator.Target
    const { id } = yield* Operator.workspaceOf(Option.some(workspace))
    const data = yield* gateway.updateWorkspace(id, {
      name: Option.getOrUndefined(changes.name),
      slug: Option.getOrUndefined(changes.slug),
      description: Change.valueOf(changes.description, unset.includes("description")),
      default_callback_url: Change.valueOf(changes["callback-url"], unset.includes("callback-url")),
      file_shape: Option.getOrUndefined(changes["file-shape"])
    })
    return { json: { data }, text: fields(data) }
  }),
  ({ changes, unset }) => Change.check(changes, unset)
).pipe(
  Command.withDescription("Change a workspace"),
  Command.withExamples([
    {
      command: "model-gateway workspaces update search-team --callback-url https://example.com/hooks/video",
      description: "Where its webhooks go"
    }
  ])
)

const remove = Operator.command(
  "delete",
  { workspace: ref },
  Effect.fn("workspaces delete")(function* ({ workspace }) {
    const { gateway } = yield* Operator.Target
    const { id, slug } = yield* Operator.workspaceOf(Option.some(workspace))
    yield* gateway.deleteWorkspace(id)
    return { json: { deleted: true, id }, text: `Deleted the workspace ${slug}.` }
  })
).pipe(
  Command.withDescription(
    "Delete a workspace without keys, files and unfinished work. Its credits become those of the default workspace"
  ),
  Command.withShortDescription("Delete a workspace")
)

/** The `workspaces` command. */
export const command = Command.make("workspaces").pipe(
  Command.withDescription("Manage workspaces, which own keys, files, credits and jobs"),
  Command.withSubcommands([list, show, create, update, remove])
)
