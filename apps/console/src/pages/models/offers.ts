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
  /** Its price depends on the request, such as on the resolution: `endpoint` has the highest. */
  readonly varies: boolean
  /** Undefined: it is not known. */
  readonly health: Health | undefined
}

/** The parameters of the path of a model. */
export const paramsOf = (id: string) => {
  const slash = id.indexOf("/")
  return { author: id.slice(0, slash), slug: id.slice(slash + 1) }
}

/** Whether a video model has several prices per second, or several per video. */
const hasSeveralPrices = (prices: Readonly<Record<string, string>>): boolean =>
  ["duration_seconds", "generate"].some((unit) => {
    const ofUnit = Object.entries(prices).filter(([name]) => name.startsWith(unit))
    return new Set(ofUnit.map(([, price]) => Number(price))).size > 1
  })

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
  const videos = useRead("GET /videos/models", {}, { enabled: models.some(({ kind }) => kind === "video") })
  const varying = new Set(videos.data?.data.filter((video) => hasSeveralPrices(video.pricing_skus)).map(({ id }) => id))
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
      varies: model.kind === "video" && varying.has(model.id),
      health: known.get(`${model.kind} ${model.id} ${provider}`)
    }))
  )
}

/** What at least one of some lists has, in the order of the first one that does. */
const union = <A>(lists: ReadonlyArray<ReadonlyArray<A> | undefined>): ReadonlyArray<A> | undefined =>
  lists.every((list) => list === undefined) ? undefined : [...new Set(lists.flatMap((list) => list ?? []))]

const someOf = (values: ReadonlyArray<boolean | undefined>): boolean | undefined =>
  values.every((value) => value === undefined) ? undefined : values.includes(true)

/** What at least one provider of a model can do. */
export const abilitiesOf = (offers: ReadonlyArray<Offer>) => {
  const all = offers.flatMap(({ endpoint }) => endpoint?.capabilities ?? [])
  const longest = all.flatMap(({ max_duration }) => max_duration ?? [])
  return {
    audio_formats: union(all.map((one) => one.audio_formats)),
    resolutions: union(all.map((one) => one.resolutions)),
    aspect_ratios: union(all.map((one) => one.aspect_ratios)),
    max_duration: longest.length === 0 ? undefined : Math.max(...longest),
    references: union(all.map((one) => one.references)),
    image_documents: someOf(all.map((one) => one.image_documents)),
    word_timestamps: someOf(all.map((one) => one.word_timestamps)),
    generate_audio: someOf(all.map((one) => one.generate_audio)),
    prompt_optional: someOf(all.map((one) => one.prompt_optional)),
    upscale: someOf(all.map((one) => one.upscale))
  }
}
