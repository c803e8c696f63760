/** `model-gateway workspaces`: manages the workspaces, which own keys, files, credits and jobs. */
import { Name } from "@model-gateway/core/Identifiers"
import { Slug, type Workspace } from "@model-gateway/core/Workspaces"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
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

const create = Operator.command(
  "create",
  {
    slug: Argument.String("slug").pipe(
      Argument.withDescription("Its short name: lower-case letters, digits and single hyphens, at most 64"),
      Argument.filter(
        Schema.is(Slug),
        () => "Expected lower-case letters, digits and single hyphens, at most 64, and no UUID"
      )
    ),
    name: Flag.String("name").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription("The name that people see: 1 to 256 characters. Default: the slug"),
      Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
      Flag.optional
    ),
    description: Flag.String("description").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription("What it is for: at most 1024 characters. Default: none"),
      Flag.optional
    )
  },
  Effect.fn("workspaces create")(function* ({ description, name, slug }) {
    const { gateway } = yield* Operator.Target
    const data = yield* gateway.createWorkspace({
      slug,
      name: Option.getOrElse(name, () => slug),
      description: Option.getOrNull(description)
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
  Command.withSubcommands([list, show, create, remove])
)
