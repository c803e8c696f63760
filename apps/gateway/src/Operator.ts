/**
 * The commands that manage a gateway by the operations of its API. Each is written once, over the
 * client. With `--url` the client calls a gateway that runs elsewhere, with a management key.
 * Without it, the service's own application runs in this process over the database, and needs no
 * key.
 *
 * To add one: write it with {@link command} in `commands/`, and list it in `Commands.ts`.
 */
import type { Gateway } from "@model-gateway/core"
import type { EnvelopeError } from "@model-gateway/core/GatewayError"
import { type Config, Console, Context, Effect, type FileSystem, type Layer, Option, type Path } from "effect"
import { Command, Flag } from "effect/cli"
import { Failure, UsageError } from "./Failure.ts"
import * as Output from "./Output.ts"
import * as Settings from "./Settings.ts"

/** The variable of the management key. As a flag, the list of processes would show it. */
export const keyVariable = "MODEL_GATEWAY_MANAGEMENT_KEY"

const flags = {
  url: Flag.String("url").pipe(
    Flag.withMetavar("url"),
    Flag.withDescription(
      `URL of a running gateway, such as https://gateway.example. Its management key is read from ${keyVariable}. ` +
        "Default: the database of the settings, which the command opens itself"
    ),
    Flag.optional
  ),
  config: Settings.configFlag,
  settings: Settings.flagsOf({ dataDir: Settings.declarations.dataDir }),
  json: Output.jsonFlag
} as const

/** Where the gateway is that a command manages. */
export interface Place {
  readonly url: Option.Option<string>
  readonly config: Option.Option<string>
  readonly settings: Readonly<Record<string, Option.Option<string>>>
}

/** The gateway that a command manages. */
export class Target extends Context.Service<
  Target,
  {
    readonly gateway: Gateway.Gateway["Service"]
    /** The user who creates keys. Undefined: the user of the management key. */
    readonly userId: string | null | undefined
  }
>()("@model-gateway/gateway/Operator/Target") {}

/** What a command prints: the response of the API with `--json`, otherwise the text. */
export interface Answer {
  readonly json: unknown
  readonly text: string
}

/** The target. Its modules are imported here so that help and errors do not wait for them. */
const layerAt = Effect.fnUntraced(function* (
  place: Place
): Effect.fn.Return<
  Layer.Layer<Target, Config.ConfigError | Failure | UsageError>,
  Failure | UsageError,
  FileSystem.FileSystem | Path.Path
> {
  if (Option.isNone(place.url)) {
    const OperatorDatabase = yield* Effect.promise(() => import("./OperatorDatabase.ts"))
    return yield* OperatorDatabase.layer(place)
  }
  if (Option.isSome(place.config) || Object.values(place.settings).some(Option.isSome)) {
    return yield* new UsageError({ message: "--url excludes --config and --data-dir." })
  }
  const OperatorUrl = yield* Effect.promise(() => import("./OperatorUrl.ts"))
  return yield* OperatorUrl.layer(place.url.value)
})

/** What failed, for people. A request to a gateway elsewhere can be found there by its id. */
const failureOf = Effect.fnUntraced(function* <E extends { readonly message: string }>(
  error: E,
  url: Option.Option<string>
): Effect.fn.Return<never, E | Failure> {
  const { EnvelopeError } = yield* Effect.promise(() => import("@model-gateway/core/GatewayError"))
  const isClientError = error instanceof Error && "operation" in error && "attempts" in error
  if (!isClientError) return yield* Effect.fail(error)
  const text = error instanceof EnvelopeError ? messageOf(error, url) : error.message
  const at = Option.match(url, { onNone: () => "", onSome: (text) => `${text}: ` })
  return yield* new Failure({ message: Output.printable(at === "" ? Output.sentence(text) : `${at}${text}`) })
})

const messageOf = (error: EnvelopeError, url: Option.Option<string>): string => {
  // The service in this process has logged what there is to say.
  if (Option.isNone(url)) return error.error.message
  const key = error.status === 401 ? `the key in ${keyVariable} is not accepted: ` : ""
  return `${key}${error.error.message}${error.requestId === undefined ? "" : ` (request ${error.requestId})`}`
}

/**
 * A command that manages a gateway: here or, with `--url`, elsewhere. `check` refuses flags that do
 * not go together, before anything is opened.
 */
export const command = <
  const Name extends string,
  const Config extends Command.Command.Config,
  E extends { readonly message: string }
>(
  name: Name,
  config: Config,
  run: (input: Command.Command.Config.InferValue<Config>) => Effect.Effect<Answer, E, Target>,
  check: (input: Command.Command.Config.InferValue<Config>) => Effect.Effect<void, UsageError> = () => Effect.void
) =>
  Command.make(name, { own: config, place: flags }, ({ own, place }) =>
    Effect.gen(function* () {
      yield* check(own)
      const target = yield* layerAt(place)
      const answer = yield* run(own).pipe(Effect.provide(target))
      yield* place.json ? Output.json(answer.json) : Console.log(answer.text)
    }).pipe(Effect.catch((error) => failureOf(error, place.url)))
  )

/** The flag of a workspace, which the API knows by its id. */
export const workspaceFlag = Flag.String("workspace").pipe(
  Flag.withMetavar("slug-or-id"),
  Flag.filter(
    (text) => text.trim() !== "",
    () => "Expected the slug or the id of a workspace"
  )
)

/** The flag of the workspace that a command is about. */
export const workspaceOption = workspaceFlag.pipe(
  Flag.withDescription("Slug or id of the workspace. Default: the default workspace"),
  Flag.optional
)

const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The id of a workspace. One that is named by its id may be deleted: what it has used remains. */
export const workspaceId = Effect.fnUntraced(function* (ref: string) {
  if (isUuid.test(ref)) return ref
  const { gateway } = yield* Target
  const workspace = yield* gateway
    .getWorkspace(ref)
    .pipe(Effect.catchTag("NotFound", () => Effect.fail(new Failure({ message: `There is no workspace ${ref}.` }))))
  return workspace.id
})

/** The id of the workspace, if one is named. */
export const optionalWorkspaceId = (ref: Option.Option<string>) =>
  Option.match(ref, { onNone: () => Effect.succeed(undefined), onSome: workspaceId })

/** The workspace that is named, or the default workspace. */
export const workspaceOf = Effect.fnUntraced(function* (ref: Option.Option<string>) {
  const { gateway } = yield* Target
  if (Option.isSome(ref)) {
    return yield* gateway
      .getWorkspace(ref.value)
      .pipe(
        Effect.catchTag("NotFound", () => Effect.fail(new Failure({ message: `There is no workspace ${ref.value}.` })))
      )
  }
  // The first in the order of creation is the default one.
  const [first] = (yield* gateway.listWorkspaces({ limit: 1 })).data
  return first ?? (yield* new Failure({ message: "The gateway has no workspace." }))
})

/** The slugs of all workspaces by their ids, for tables. */
export const slugs = Effect.gen(function* () {
  const { gateway } = yield* Target
  const workspaces = yield* all((page) => gateway.listWorkspaces({ ...page, limit: 100 }))
  const known = new Map(workspaces.map(({ id, slug }) => [id, slug]))
  return (id: string | null): string => (id === null ? "none" : (known.get(id) ?? id))
})

/** The most entries that a list shows. */
export const limitFlag = (what: string, byDefault: number) =>
  Flag.Int("limit").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription(`The most ${what} to list, from 1 to 100000. Default: ${byDefault}`),
    Flag.filter(
      (limit) => limit >= 1 && limit <= 100_000,
      () => "Expected a number from 1 to 100000"
    ),
    Flag.withDefault(byDefault)
  )

/** Reads pages until there are `limit` items or no further page. `next` of the last one is null. */
export const pages = Effect.fnUntraced(function* <A, E>(
  limit: number,
  read: (
    after: string | undefined,
    limit: number
  ) => Effect.Effect<{ readonly data: ReadonlyArray<A>; readonly next: string | null }, E>
) {
  const items: Array<A> = []
  let after: string | undefined
  do {
    const page: { readonly data: ReadonlyArray<A>; readonly next: string | null } = yield* read(
      after,
      limit - items.length
    )
    items.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined && items.length < limit)
  return items.slice(0, limit)
})

/** Reads all items of a list whose pages are selected by position. */
export const all = <A, E>(
  read: (page: {
    readonly offset: number
  }) => Effect.Effect<
    { readonly data: ReadonlyArray<A>; readonly has_more?: boolean; readonly total_count?: number },
    E
  >
) =>
  pages(Number.POSITIVE_INFINITY, (after) => {
    const offset = Number(after ?? 0)
    return Effect.map(read({ offset }), ({ data, has_more, total_count = 0 }) => {
      const end = offset + data.length
      const hasMore = data.length > 0 && (has_more ?? end < total_count)
      return { data, next: hasMore ? String(end) : null }
    })
  })
