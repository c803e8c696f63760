/** `model-gateway usage`: what was requested and what it cost, summed. */
import type { Item } from "@model-gateway/core/Activity"
import { isDay } from "@model-gateway/core/unstable/Day"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { UsageError } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"
import * as Keys from "./Keys.ts"

/** What the sums are of. */
const groups = ["day", "model", "provider", "workspace", "key"] as const

/** The sums of one group. */
interface Sums {
  readonly requests: number
  readonly failed_requests: number
  readonly usage: number
  readonly byok_usage_inference: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

const none: Sums = {
  requests: 0,
  failed_requests: 0,
  usage: 0,
  byok_usage_inference: 0,
  prompt_tokens: 0,
  completion_tokens: 0
}

/** A sum of floats has digits that no amount of credits has. */
const exact = (credits: number): number => Math.round(credits * 1_000_000) / 1_000_000

const plus = (sums: Sums, item: Sums): Sums => ({
  requests: sums.requests + item.requests,
  failed_requests: sums.failed_requests + item.failed_requests,
  usage: exact(sums.usage + item.usage),
  byok_usage_inference: exact(sums.byok_usage_inference + item.byok_usage_inference),
  prompt_tokens: sums.prompt_tokens + item.prompt_tokens,
  completion_tokens: sums.completion_tokens + item.completion_tokens
})

const cells = (sums: Sums): ReadonlyArray<string> => [
  String(sums.requests),
  String(sums.failed_requests),
  String(sums.usage),
  String(sums.byok_usage_inference),
  String(sums.prompt_tokens),
  String(sums.completion_tokens)
]

const headings = ["REQUESTS", "FAILED", "CREDITS", "BYOK", "TOKENS READ", "TOKENS WRITTEN"]

const groupOf = {
  day: ({ date }: Item) => date,
  model: ({ model }: Item) => model,
  provider: ({ provider_name }: Item) => provider_name,
  workspace: ({ workspace_id = "" }: Item) => workspace_id
}

/** The usage of keys, which their records have. */
const byKey = Effect.fnUntraced(function* (workspaceId: string | undefined) {
  const keys = yield* Keys.allOf({ workspace_id: workspaceId })
  return {
    json: {
      data: keys.map(({ byok_usage, hash, name, usage, usage_daily, usage_monthly, usage_weekly, workspace_id }) => ({
        key: hash,
        name,
        workspace_id,
        usage,
        usage_daily,
        usage_weekly,
        usage_monthly,
        byok_usage
      }))
    },
    text: Listed.table(keys, {
      KEY: ({ label }) => label,
      NAME: ({ name }) => name,
      TODAY: ({ usage_daily }) => String(usage_daily),
      "THIS WEEK": ({ usage_weekly }) => String(usage_weekly),
      "THIS MONTH": ({ usage_monthly }) => String(usage_monthly),
      EVER: ({ usage }) => String(usage),
      "BYOK EVER": ({ byok_usage }) => String(byok_usage),
      HASH: ({ hash }) => hash.slice(0, 16)
    })
  }
})

/** The `usage` command. */
export const command = Operator.command(
  "usage",
  {
    by: Flag.Literals("by", groups).pipe(
      Flag.withDescription(
        "What to sum by. `key` shows the credits of each key today, this week, this month and ever, in UTC. Default: day"
      ),
      Flag.withDefault("day" as const)
    ),
    date: Flag.String("date").pipe(
      Flag.withMetavar("day"),
      Flag.withDescription("Only this UTC day: 2027-01-31. Default: the current day and the 30 before it"),
      Flag.filter(isDay, () => "Expected a day, such as 2027-01-31"),
      Flag.optional
    ),
    key: Flag.String("key").pipe(
      Flag.withMetavar("hash"),
      Flag.withDescription(
        "Only requests of this key and its ephemeral keys: the first 8 characters of its hash or more. Default: of all keys"
      ),
      Flag.filter(Keys.isKey, () => Keys.expected),
      Flag.optional
    ),
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("Only this workspace: its slug or id. Default: all workspaces"),
      Flag.optional
    )
  },
  Effect.fn("usage")(function* ({ by, date, key, workspace }) {
    const { gateway } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(workspace)
    if (by === "key") return yield* byKey(workspaceId)
    const hash = Option.isNone(key) ? undefined : (yield* Keys.find(key.value)).hash
    const items = yield* Operator.pages(Number.POSITIVE_INFINITY, (after) =>
      gateway.listActivity({
        after,
        date: Option.getOrUndefined(date),
        api_key_hash: hash,
        workspace_id: workspaceId,
        group_by: by === "workspace" ? by : undefined
      })
    )
    const sums = new Map<string, Sums>()
    for (const item of items) {
      const group = groupOf[by](item)
      sums.set(group, plus(sums.get(group) ?? none, item))
    }
    // Days are the newest first, others by what they cost.
    const rows = [...sums].toSorted(([, one], [, other]) => (by === "day" ? 0 : other.usage - one.usage))
    const slugOf = by === "workspace" ? yield* Operator.slugs : (text: string) => text
    const total = items.reduce<Sums>(plus, none)
    return {
      json: { data: rows.map(([group, each]) => ({ [by === "workspace" ? "workspace_id" : by]: group, ...each })) },
      text:
        rows.length === 0
          ? "There were no requests."
          : Output.table(
              [by.toUpperCase(), ...headings],
              [
                ...rows.map(([group, each]) => [group === "" ? "none" : slugOf(group), ...cells(each)]),
                ["total", ...cells(total)]
              ]
            )
    }
  }),
  ({ by, date, key }) =>
    by === "key" && (Option.isSome(date) || Option.isSome(key))
      ? Effect.fail(new UsageError({ message: "--by key excludes --date and --key." }))
      : Effect.void
).pipe(
  Command.withDescription(
    "Show the requests, credits and tokens by day, model, provider, workspace or key. CREDITS is what was charged (1 credit is 1 USD), " +
      "BYOK what providers billed to the owners of provider keys"
  ),
  Command.withShortDescription("Show requests and credits, summed"),
  Command.withExamples([
    { command: "model-gateway usage", description: "By day, the last 31 days" },
    { command: "model-gateway usage --by model --date 2027-01-31", description: "What a day has cost, by model" },
    { command: "model-gateway usage --by key --workspace search-team", description: "What each key has spent" }
  ])
)
