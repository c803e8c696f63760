/** The models to choose from, and what they can do. */
import type { Item } from "../../api/Contract.ts"
import { credits } from "../../parts/format.ts"
import { simulatedStatus } from "../../parts/simulators.ts"

/** A model of GET `/models`. */
export type Model = Item<"GET /models">

/** A model of GET `/videos/models`. */
export type VideoModel = Item<"GET /videos/models">

/** The operations that the playground tries. */
export type Kind = Model["kind"]

/** The models that every gateway has. They need no provider and no account. */
export const defaultModels: { readonly [K in Kind]: string } = {
  rerank: "sandbox/bm25",
  transcription: "sandbox/tones",
  video: "sandbox/title-card"
}

const units = [
  ["request", "a request"],
  ["search_unit", "a search unit"],
  ["second", "a second"]
] as const

/** The price, such as `0.002 a search unit`. */
export const priceOf = ({ is_free, pricing }: Pick<Model, "is_free" | "pricing">): string => {
  if (is_free) return "free"
  const prices = units.flatMap(([field, unit]) => {
    const price = pricing[field]
    return price === undefined ? [] : [`${credits(Number(price))} ${unit}`]
  })
  const tokens = [
    ["prompt", "read"],
    ["completion", "written"]
  ] as const
  for (const [field, what] of tokens) {
    const price = Number(pricing[field])
    if (price > 0) prices.push(`${credits(price * 1e6)} a million tokens ${what}`)
  }
  return prices.join(", ")
}

/** What a model can do, in a few words each. */
export const abilitiesOf = ({ capabilities }: Pick<Model, "capabilities">): ReadonlyArray<string> => [
  ...(capabilities.image_documents === true ? ["images"] : []),
  ...(capabilities.word_timestamps === true ? ["times of words"] : []),
  ...(capabilities.audio_formats === undefined ? [] : [capabilities.audio_formats.join(", ")]),
  ...(capabilities.resolutions === undefined ? [] : [capabilities.resolutions.join(", ")]),
  ...(capabilities.max_duration === undefined ? [] : [`up to ${capabilities.max_duration} s`]),
  ...(capabilities.generate_audio === true ? ["sound"] : []),
  ...(capabilities.upscale === true ? ["upscales"] : [])
]

/** What the list of models shows of one. */
export type Shown = Pick<Model, "id" | "name" | "providers" | "is_free" | "pricing" | "capabilities">

/** The models that match every word of a search, and the simulators of errors among them. */
export const search = <M extends Shown>(
  models: ReadonlyArray<M>,
  text: string
): { readonly models: ReadonlyArray<M>; readonly simulators: ReadonlyArray<M> } => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = models.filter((model) => {
    const texts = [model.id, model.name, ...model.providers, priceOf(model), ...abilitiesOf(model)]
    const all = texts.join(" ").toLowerCase()
    return words.every((word) => all.includes(word))
  })
  return {
    models: found.filter(({ id }) => simulatedStatus(id) === undefined),
    simulators: found.filter(({ id }) => simulatedStatus(id) !== undefined)
  }
}
