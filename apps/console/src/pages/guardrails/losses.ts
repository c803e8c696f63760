/** Which keys have used what a guardrail would forbid, from the activity of the last days. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { call } from "../../api/call.ts"
import type { Success } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"
import { forbids, forbidsModel, type Restriction } from "./restriction.ts"

/** A key and what it may use now. */
export interface Affected {
  readonly hash: string
  readonly name: string
  readonly before: Restriction
}

/** The requests for a model at a provider. */
interface Used {
  readonly model: string
  readonly provider: string
  readonly requests: number
  readonly usage: number
}

/** What a key has used and may not use any longer. */
export interface Loss {
  readonly key: Affected
  readonly uses: ReadonlyArray<Used & { readonly isModelForbidden: boolean; readonly left: ReadonlyArray<string> }>
}

/** The keys whose activity is read. */
export const mostKeys = 50

/** The pages of 2,000 items that are read of one activity. */
const mostPages = 5

/** What was used today and on the 30 days before, by model and provider. Default: by all keys. */
const readUsed = async (hash: string | undefined, signal: AbortSignal): Promise<ReadonlyArray<Used>> => {
  const used = new Map<string, Used>()
  let after: string | undefined
  for (let page = 0; page < mostPages; page++) {
    const { data, next }: Success<"GET /activity"> = await call(
      "GET /activity",
      { query: { api_key_hash: hash, after } },
      signal
    )
    for (const { model, provider_name: provider, requests, usage } of data) {
      const id = JSON.stringify([model, provider])
      const sum = used.get(id)
      used.set(id, {
        model,
        provider,
        requests: (sum?.requests ?? 0) + requests,
        usage: (sum?.usage ?? 0) + usage
      })
    }
    if (next === null) break
    after = next
  }
  return [...used.values()]
}

/** Requests that failed before a provider was tried name none. */
const isForbidden = (restriction: Restriction, { model, provider }: Used): boolean =>
  provider === "" ? forbidsModel(restriction, model) : forbids(restriction, model, provider)

const isLost = (before: Restriction, after: Restriction, used: Used): boolean =>
  isForbidden(after, used) && !isForbidden(before, used)

/** Reads with at most 4 calls at once. */
const readAll = async (keys: ReadonlyArray<Affected>, signal: AbortSignal) => {
  const found = new Map<string, ReadonlyArray<Used>>()
  const waiting = [...keys]
  const work = async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      found.set(key.hash, await readUsed(key.hash, signal))
    }
  }
  await Promise.all([work(), work(), work(), work()])
  return found
}

/**
 * The losses of keys. The activity of all keys says whether there can be any. Only then the
 * activity of each key is read.
 */
export const useLosses = (keys: ReadonlyArray<Affected>, after: Restriction) => {
  const models = useRead("GET /models", { query: { limit: 1000 } })
  const all = useQuery({
    queryKey: ["used", "all"],
    queryFn: ({ signal }) => readUsed(undefined, signal)
  })
  const canLose = all.data?.some((used) => keys.some(({ before }) => isLost(before, after, used)))
  const read = keys.slice(0, mostKeys)
  const each = useQuery({
    queryKey: ["used", read.map(({ hash }) => hash)],
    queryFn: ({ signal }) => readAll(read, signal),
    enabled: canLose === true,
    placeholderData: keepPreviousData
  })
  const providersOf = (model: string) => models.data?.data.find(({ id }) => id === model)?.providers ?? []
  const losses =
    canLose === false
      ? []
      : each.data &&
        read.flatMap((key): ReadonlyArray<Loss> => {
          const uses = (each.data.get(key.hash) ?? []).filter((used) => isLost(key.before, after, used))
          return uses.length === 0
            ? []
            : [
                {
                  key,
                  uses: uses.map((used) => ({
                    ...used,
                    isModelForbidden: forbidsModel(after, used.model),
                    left: providersOf(used.model).filter((provider) => !forbids(after, used.model, provider))
                  }))
                }
              ]
        })
  return { losses, error: all.error ?? each.error, isComplete: canLose === false || keys.length <= mostKeys }
}
