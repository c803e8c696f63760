/** What people and programs read about the upstreams, and about the models and their offers. */
import type { Offer } from "@model-gateway/offers/Offer"
import * as Price from "@model-gateway/offers/Price"
import type { VideoPrice } from "@model-gateway/offers/Pricing"
import { type Settings, timeLimitOf } from "@model-gateway/server/GatewayServerConfig"
import * as Setting from "@model-gateway/settings/Setting"
import * as BuiltIn from "@model-gateway/providers/Catalog"
import * as CatalogFile from "./CatalogFile.ts"
import type { Offered, Upstream } from "./Offered.ts"
import * as Output from "./Output.ts"

type Everything = Offered["Service"]

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** How many models a provider serves. */
const modelsOf = ({ offers }: Everything, provider: string): string =>
  count(new Set(offers.filter((offer) => offer.provider === provider).map(({ publicId }) => publicId)).size, "model")

const at = (upstream: Upstream): string => {
  const { adapter, baseUrl } = upstream
  return baseUrl === "" ? adapter.title : `${adapter.title} at ${adapter.addressOf?.(upstream) ?? baseUrl}`
}

const callersOnly = "only for callers with a provider key"

/** A hint if the release has a newer catalog than the file. */
const staleness = ({ catalog, file }: CatalogFile.InUse): string =>
  file !== undefined && catalog.updated < BuiltIn.builtIn.updated
    ? ` The built-in one is newer, of ${BuiltIn.builtIn.updated}.`
    : ""

/** One line for each upstream that is on, or that the settings mention. */
export const summary = (everything: Everything): string => {
  const { offers, upstreams } = everything
  const lines: Array<readonly [string, string]> = []
  for (const upstream of upstreams) {
    const { adapter, credential, isMentioned, name } = upstream
    if (credential !== undefined) lines.push([name, `${modelsOf(everything, name)}, ${at(upstream)}`])
    else if (isMentioned)
      lines.push([name, `no ${adapter.variables?.apiKey ?? "API key"}, so ${callersOnly}, ${at(upstream)}`])
  }
  const named = new Set(upstreams.map(({ name }) => name))
  for (const provider of new Set(offers.map((offer) => offer.provider))) {
    if (!named.has(provider)) lines.push([provider, `${modelsOf(everything, provider)}, in this process`])
  }
  return `Catalog of models: ${CatalogFile.describe(everything.catalog)}.${staleness(everything.catalog)}\nUpstreams:\n${Output.fields(lines)}`
}

/** A model with its offers, in the order in which they are tried. */
export interface Listed {
  readonly id: string
  readonly kind: Offer["kind"]
  readonly name: string
  readonly offers: ReadonlyArray<ListedOffer>
}

/** An offer of a model. */
export interface ListedOffer {
  readonly upstream: string
  /** The upstream's id of the model. */
  readonly model: string
  /** Credits by unit, as in the settings file. */
  readonly price: Price.Price | "free"
  /** Whether the price was read elsewhere than at the vendor. */
  readonly price_is_unconfirmed: boolean
  /** The longest wait for one call. Null: that of the adapter. */
  readonly time_limit: string | null
  /** Where the gateway's credential is from, or why there is none. */
  readonly credential: string
  /** The day on which the model ends at the upstream. Null: none is known. */
  readonly expiration_date: string | null
}

/**
 * Every model. Offers for callers with a provider key are left out unless the settings mention
 * their upstream, because every adapter has some.
 */
export const list = ({ offers, upstreams }: Everything, deadlines: Settings["deadlines"]): ReadonlyArray<Listed> => {
  const sources = new Map(upstreams.map(({ credentialSource, name }) => [name, credentialSource]))
  const mentioned = new Set(upstreams.filter(({ isMentioned }) => isMentioned).map(({ name }) => name))
  const models = new Map<string, Listed>()
  for (const offer of offers) {
    if (offer.credential === undefined && !mentioned.has(offer.provider)) continue
    const { kind, name, pricing, provider, publicId, upstreamId } = offer
    const limit = timeLimitOf(offer, deadlines)
    const listed: ListedOffer = {
      upstream: provider,
      model: upstreamId,
      price: offer.isFree ? "free" : Price.fromPricing(pricing),
      price_is_unconfirmed: offer.hasUnconfirmedPrice ?? false,
      time_limit: limit === undefined ? null : Setting.formatDuration(limit),
      credential: offer.credential === undefined ? callersOnly : (sources.get(provider) ?? "none"),
      expiration_date: offer.expiresOn ?? null
    }
    const key = `${kind} ${publicId}`
    const known = models.get(key)
    models.set(key, { id: publicId, kind, name: known?.name ?? name, offers: [...(known?.offers ?? []), listed] })
  }
  return [...models.values()]
}

const filterText = ({ audio, resolution }: Pick<VideoPrice, "audio" | "resolution">): string => {
  const parts = [resolution, audio === undefined ? undefined : audio ? "audio" : "no audio"].filter(
    (part) => part !== undefined
  )
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`
}

/** Credits with six digits, which is more than a price has, unless it was computed. */
const digits = (credits: number): string => String(Number(credits.toPrecision(6)))

const perUnitText = (unit: string, price: NonNullable<Price.Price["second"]>): string =>
  typeof price === "number"
    ? `${digits(price)} per ${unit}`
    : price.map(({ credits, ...filter }) => `${digits(credits)} per ${unit}${filterText(filter)}`).join("; ")

/** A price for people, in credits. */
export const priceText = (price: ListedOffer["price"]): string => {
  if (price === "free") return price
  const { input_tokens, output_tokens, search_unit, second, video, video_tokens } = price
  return [
    ...(search_unit === undefined ? [] : [perUnitText("search unit", search_unit)]),
    ...(second === undefined ? [] : [perUnitText("second", second)]),
    ...(video === undefined ? [] : [perUnitText("video", video)]),
    ...(video_tokens === undefined ? [] : [perUnitText("million tokens of video", video_tokens)]),
    ...(input_tokens === undefined ? [] : [perUnitText("million input tokens", input_tokens)]),
    ...(output_tokens === undefined || output_tokens === 0 ? [] : [perUnitText("million output tokens", output_tokens)])
  ].join("; ")
}

/** The models as a table for people. Marks that need a reason are explained below it. */
export const table = (models: ReadonlyArray<Listed>): string => {
  const offers = models.flatMap((model) => model.offers)
  const someEnd = offers.some(({ expiration_date }) => expiration_date !== null)
  const text = Output.table(
    ["MODEL", "KIND", "UPSTREAM", "MODEL THERE", "CREDITS", "TIME LIMIT", "API KEY", ...(someEnd ? ["ENDS ON"] : [])],
    models.flatMap(({ id, kind, offers }) =>
      offers.map(({ credential, expiration_date, model, price, price_is_unconfirmed, time_limit, upstream }, index) => [
        index === 0 ? id : "",
        index === 0 ? kind : "",
        upstream,
        model,
        `${priceText(price)}${price_is_unconfirmed ? " (unconfirmed)" : ""}`,
        time_limit ?? "the adapter's",
        credential,
        ...(someEnd ? [expiration_date ?? ""] : [])
      ])
    )
  )
  return offers.some(({ price_is_unconfirmed }) => price_is_unconfirmed) ? `${text}\n\n${unconfirmed}` : text
}

const unconfirmed =
  "An unconfirmed price was read elsewhere than at the vendor: compare it with your contract before you rely on it."

/** The table of the built-in models in Markdown, as the documentation shows it. */
export const builtInTable = (): string =>
  [
    "| Model | Kind | Credits | Price read on | Ends on |",
    "|---|---|---|---|---|",
    ...BuiltIn.builtIn.models.map(({ expiresOn = "", hasUnconfirmedPrice, kind, pricing, publicId, source }) =>
      [
        "",
        `\`${publicId}\``,
        kind,
        `${priceText(Price.fromPricing(pricing))}${hasUnconfirmedPrice === true ? " (unconfirmed)" : ""}`,
        `[${source.read_on}](${source.page})`,
        expiresOn,
        ""
      ]
        .join(" | ")
        .trim()
        .replace(/ {2,}/g, " ")
    )
  ].join("\n") + "\n"
