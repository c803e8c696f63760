/** Models at their providers, in the order in which they are tried. */
import { useQueries } from "@tanstack/react-query"
import { call } from "../../api/call.ts"
import type { Item, Success } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"

export type Model = Item<"GET /models">
export type Health = Item<"GET /providers/health">
export type Kind = Model["kind"]
type Endpoint = Success<"GET /models/:author/:slug/endpoints">["data"]["endpoints"][number]

/** A model at a provider. */
export interface Offer {
  readonly model: Model
  readonly provider: string
  /** Counted from 1. */
  readonly place: number
  /** Undefined: it is being read. */
  readonly endpoint: Pick<Endpoint, "pricing" | "is_free" | "capabilities" | "data_policy"> | undefined
  /** Undefined: it is not known. */
  readonly health: Health | undefined
}

/** The parameters of the path of a model. */
export const paramsOf = (id: string) => {
  const slash = id.indexOf("/")
  return { author: id.slice(0, slash), slug: id.slice(slash + 1) }
}

const endpointsOf = "GET /models/:author/:slug/endpoints"

/** Reads the health of the providers, again every 15 seconds. */
export const useHealth = () => useRead("GET /providers/health", {}, { refetchInterval: 15_000 })

/**
 * The offers of models. The list of models has the price of a model at one provider, so only those
 * at several are read in detail.
 */
export const useOffers = (
  models: ReadonlyArray<Model>,
  health: ReadonlyArray<Health> | undefined
): ReadonlyArray<Offer> => {
  const several = models.filter(({ providers }) => providers.length > 1)
  const details = useQueries({
    queries: several.map(({ id }) => {
      const input = { params: paramsOf(id) }
      return {
        queryKey: [endpointsOf, input],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) => call(endpointsOf, input, signal)
      }
    })
  })
  const endpoints = new Map(
    several.map(({ id, kind }, index) => [`${kind} ${id}`, details[index]?.data?.data.endpoints])
  )
  const known = new Map(health?.map((item) => [`${item.kind} ${item.model} ${item.provider}`, item]))
  return models.flatMap((model) =>
    model.providers.map((provider, index) => ({
      model,
      provider,
      place: index + 1,
      endpoint:
        model.providers.length === 1
          ? model
          : endpoints
              .get(`${model.kind} ${model.id}`)
              ?.find((item) => item.provider_name === provider && item.kind === model.kind),
      health: known.get(`${model.kind} ${model.id} ${provider}`)
    }))
  )
}
