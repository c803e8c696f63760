// Every field of a request, at every model of every adapter: none gets lost. A field is in what the
// upstream is sent, or a warning names it, or the request is refused with an issue that names it.
//
// A new adapter is in here by itself. One without built-in models needs an entry in
// `support/models.ts`. The results are the tables of the reference page.
import { assert, describe, expect, it } from "@effect/vitest"
import type { Issue } from "@model-gateway/core/GatewayError"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Effect, FileSystem, Result } from "effect"
import { adapters, type AnyAdapter } from "../src/Adapters.ts"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import {
  type Credential,
  type Offer,
  type RerankOffer,
  type TranscriptionOffer,
  type VideoOffer
} from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import * as Rerank from "@model-gateway/offers/Rerank"
import * as Transcription from "@model-gateway/offers/Transcription"
import * as Video from "@model-gateway/offers/Video"
import { type Double, type Recorded, startDouble } from "@model-gateway/test-doubles/Double"
import { mp4Uri } from "@model-gateway/test-doubles/Mp4Double"
import { credentialOf, modelsOf, pathOf } from "./support/models.ts"
import { expectTables, table } from "./support/table.ts"
import { services, started } from "./support/transcription.ts"

/** What the adapter's answers, not its requests, are made of. */
const fromAnswers: Readonly<Record<string, ReadonlyArray<string>>> = {
  // The server ranks all texts. `Ranking.rank` returns the first ones.
  tei: ["top_n"],
  // It is asked for all results of a model, such as v3, whose scores may be of either kind.
  jina: ["top_n"],
  vllm: ["top_n"],
  bedrock: ["top_n"],
  // Their answers have the words anyway. They are returned if they were asked for.
  deepgram: ["timestamp_granularities"],
  elevenlabs: ["timestamp_granularities"],
  assemblyai: ["timestamp_granularities"],
  xai: ["timestamp_granularities"],
  // A segment begins with its first word, so it asks for words anyway.
  vertex: ["timestamp_granularities"]
}

/** A field, and requests that differ in it. Of several fields, all may be named in an issue. */
interface Field<Request> {
  readonly names: ReadonlyArray<string>
  /** What the table calls it. Empty: the table leaves it out. Default: the first name. */
  readonly title?: string
  /** Undefined: the field is left out. */
  readonly values: ReadonlyArray<{ readonly [K in keyof Request]?: Request[K] | undefined }>
}

type Outcome =
  | { readonly _tag: "Refused"; readonly issues: ReadonlyArray<Issue> }
  | { readonly _tag: "Sent"; readonly sent: string; readonly warnings: ReadonlyArray<string> }

/** What happens to a request, without an answer. */
type Try<Request> = (request: Request) => Effect.Effect<Outcome>

const isNamed = ({ names }: Pick<Field<unknown>, "names">, path: string): boolean =>
  names.some((name) => path.startsWith(name))

const written = <Request extends object>(
  least: Request,
  ...values: ReadonlyArray<Field<Request>["values"][number] | undefined>
): Request => {
  const request = values.reduce<Request>((all, value) => ({ ...all, ...value }), { ...least })
  for (const name of Object.keys(request))
    if (Reflect.get(request, name) === undefined) Reflect.deleteProperty(request, name)
  return request
}

/** The request with every field that the model takes, besides what it needs at least. */
const accepted = Effect.fnUntraced(function* <Request extends object>(
  least: Request,
  fields: ReadonlyArray<Field<Request>>,
  attempt: Try<Request>
) {
  let left = fields
  while (true) {
    const request = written(least, ...left.map(({ values }) => values[0]))
    const outcome = yield* attempt(request)
    if (outcome._tag === "Sent") return request
    const rest = left.filter((field) => !outcome.issues.some(({ path }) => isNamed(field, path)))
    assert.isBelow(rest.length, left.length, `refused without the name of a field: ${JSON.stringify(outcome)}`)
    left = rest
  }
})

/** What an offer does with a field: forwards it, ignores it with a warning, or refuses it. */
type Treatment = "yes" | "warning" | "no"

/** By kind, field and provider: what each offer does. */
const results = new Map<Offer["kind"], Map<string, Map<string, Array<Treatment>>>>()

const record = ({ kind, provider }: Offer, title: string, treatment: Treatment): void => {
  const fields = results.get(kind) ?? new Map<string, Map<string, Array<Treatment>>>()
  const providers = fields.get(title) ?? new Map<string, Array<Treatment>>()
  providers.set(provider, [...(providers.get(provider) ?? []), treatment])
  results.set(kind, fields.set(title, providers))
}

/** Fails if a field of the request gets lost. */
const nothingLost = Effect.fnUntraced(function* <Request extends object>(
  offer: Offer,
  least: Request,
  fields: ReadonlyArray<Field<Request>>,
  attempt: Try<Request>
) {
  const { provider, publicId } = offer
  const request = yield* accepted(least, fields, attempt)
  // Otherwise two requests would differ without the field, and none could get lost below.
  assert.deepStrictEqual(yield* attempt(request), yield* attempt(request), `${publicId} is sent something random`)
  const isWarned = (field: Field<Request>, { warnings }: Extract<Outcome, { readonly _tag: "Sent" }>) =>
    warnings.some((sentence) => isNamed(field, sentence))
  for (const field of fields) {
    const where = `${field.names[0]} at ${publicId}`
    const sent: Array<string> = []
    let named = 0
    let treatment: Treatment = "no"
    const isRefusedForOthers = (outcome: Outcome): boolean =>
      outcome._tag === "Refused" && !outcome.issues.some(({ path }) => isNamed(field, path))
    for (const value of field.values) {
      const among = yield* attempt(written(request, value))
      // It may exclude another field of the request, which is named then. Alone, it must be taken.
      const outcome = isRefusedForOthers(among) ? yield* attempt(written(least, value)) : among
      if (outcome._tag === "Refused") {
        assert.isTrue(
          outcome.issues.some(({ path }) => isNamed(field, path)),
          `${where} is refused as ${JSON.stringify(outcome.issues)}`
        )
        named++
      } else if (isWarned(field, outcome)) {
        named++
        treatment = "warning"
      } else {
        sent.push(outcome.sent)
      }
    }
    // An offer may take a field that it does not take beside others.
    for (const value of sent.length > 0 ? [] : field.values) {
      const alone = yield* attempt(written(least, value))
      if (alone._tag === "Sent" && !isWarned(field, alone)) sent.push(alone.sent)
    }
    const { names, title = names[0] ?? "" } = field
    if (title !== "") record(offer, title, sent.length > 0 ? "yes" : treatment)
    if (sent.length === 0 || fromAnswers[provider]?.some((name) => field.names.includes(name)) === true) continue
    assert.strictEqual(new Set(sent).size, sent.length, `${where} gets lost`)
    // The only value that a model takes may be what it always does.
    assert.isTrue(sent.length > 1 || named > 0, `${where} has one value only`)
  }
})

/** The gateway's own. */
const ownOf = ({ credential = assert.fail("no credential") }: Offer): Credential => credential

const optionsOf = (adapter: AnyAdapter, name = "x_option") => ({
  names: [`provider.options.${adapter.name}`],
  title: "provider.options",
  values:
    adapter.name === "gateway" || adapter.name === "openrouter"
      ? [{ options: { options: { one: { [name]: 1 } } } }, { options: { options: { two: { [name]: 1 } } } }]
      : [{ options: { [name]: "one" } }, { options: { [name]: "two" } }]
})

/** What a call is refused with, or else what it sent. */
const outcomeOf = Effect.fnUntraced(function* (
  issues: ReadonlyArray<Issue>,
  call: Effect.Effect<unknown, ProviderError>,
  sent: Effect.Effect<string | undefined>,
  warnings: ReadonlyArray<string>
): Effect.fn.Return<Outcome> {
  if (issues.length > 0) return { _tag: "Refused", issues }
  const result = yield* Effect.result(call)
  const text = yield* sent
  if (text !== undefined) return { _tag: "Sent", sent: text, warnings }
  const reason = Result.isFailure(result) ? result.failure.reason : undefined
  return reason !== undefined && "issues" in reason && reason.issues !== undefined
    ? { _tag: "Refused", issues: reason.issues }
    : assert.fail(`neither sent nor refused with issues: ${JSON.stringify(reason)}`)
})

const rerank = (adapter: AnyAdapter, offer: RerankOffer, sent: Effect.Effect<string | undefined>) =>
  nothingLost<Rerank.RerankRequest>(
    offer,
    { query: "tea", documents: [{ text: "a" }, { text: "b" }, { text: "c" }] },
    [
      { names: ["query"], values: [{ query: "green tea" }, { query: "black tea" }] },
      {
        names: ["documents"],
        values: [{ documents: [{ text: "a" }, { text: "d" }] }, { documents: [{ text: "a" }, { text: "e" }] }]
      },
      {
        names: ["documents.0.image"],
        title: "documents[].image",
        values: ["f", "g"].map((name) => ({ documents: [{ image: `https://example.com/${name}.png` }, { text: "b" }] }))
      },
      { names: ["top_n"], values: [{ top_n: 1 }, { top_n: 2 }] },
      optionsOf(adapter)
    ],
    (request) =>
      outcomeOf(
        Rerank.unsupported(request, offer.capabilities, offer.publicId),
        offer.run(request, ownOf(offer)),
        sent,
        offer.ignored?.(request) ?? []
      )
  )

/** The granularities are empty unless `verbose_json` is asked for. */
const transcription = (adapter: AnyAdapter, offer: TranscriptionOffer, sent: Effect.Effect<string | undefined>) => {
  const audio = (words: string) => {
    const source = AudioSource.fromBytes(new TextEncoder().encode(`speech: ${words}`))
    return { audio: { source, format: "wav" as const, durationSeconds: 2 } }
  }
  return nothingLost<Transcription.TranscriptionRequest>(
    offer,
    { ...audio("of nothing"), timestamp_granularities: [] },
    [
      { names: ["file"], title: "file, input_audio", values: [audio("one two"), audio("three four")] },
      { names: ["language"], values: [{ language: "de" }, { language: "fr" }] },
      { names: ["temperature"], values: [{ temperature: 0.25 }, { temperature: 0.75 }] },
      {
        names: ["timestamp_granularities", "response_format"],
        title: "verbose_json, timestamp_granularities",
        values: [{ timestamp_granularities: ["word", "segment"] }, { timestamp_granularities: ["segment"] }]
      },
      optionsOf(adapter)
    ],
    (request) =>
      outcomeOf(
        Transcription.unsupported(
          {
            format: request.audio.format,
            formatField: "file",
            audioField: "file",
            bytes: 100,
            seconds: request.audio.durationSeconds,
            verbose: request.timestamp_granularities.length > 0
          },
          offer.capabilities,
          offer.publicId
        ),
        offer.run(request, ownOf(offer)),
        sent,
        [...Transcription.ignored(request, offer.capabilities, offer.publicId), ...(offer.ignored?.(request) ?? [])]
      )
  )
}

const link = (name: string) => ({ url: `https://example.com/${name}` })

/** Adapters whose upstreams fetch no links to images. */
const inline = new Set(["google", "vertex"])

const imagesFor = (adapter: AnyAdapter) => {
  const image = (name: string) => ({
    type: "image_url" as const,
    image_url: inline.has(adapter.name) ? { url: `data:image/png;base64,${btoa(name)}` } : link(`${name}.png`)
  })
  const frames = (first: string, ...last: ReadonlyArray<string>): Video.VideoRequest => ({
    frame_images: [
      { ...image(first), frame_type: "first_frame" as const },
      ...last.map((name) => ({ ...image(name), frame_type: "last_frame" as const }))
    ]
  })
  return { image, frames }
}

const audio = (name: string) => ({ type: "audio_url" as const, audio_url: link(`${name}.mp3`) })
const clip = (name: string) => ({ type: "video_url" as const, video_url: link(`${name}.mp4`) })

const video = (adapter: AnyAdapter, offer: VideoOffer, sent: Effect.Effect<string | undefined>) => {
  const { capabilities, publicId } = offer
  const { frames, image } = imagesFor(adapter)
  const { aspect_ratios, durations, resolutions, sizes = [] } = capabilities
  const first = sizes[0] ?? { size: undefined, resolution: resolutions[0], aspect_ratio: aspect_ratios[0] }
  const pixels = ["resolution", "aspect_ratio", "size"]
  /** What the model takes first, so that the whole request is accepted if it can be. */
  const sorted = <A>(all: ReadonlyArray<A>, own: ReadonlyArray<A>) => [...new Set([...own, ...all])]
  const source: Video.VideoRequest = capabilities.upscale
    ? { input_references: [{ type: "video_url", video_url: { url: mp4Uri(2) } }] }
    : {}
  const needsImage = Result.isFailure(Effect.runSync(Effect.result(offer.check({ prompt: "a harbor" }))))
  return nothingLost<Video.VideoRequest>(
    offer,
    { prompt: "a harbor", ...source, ...(needsImage && !capabilities.upscale ? frames("a") : {}) },
    [
      { names: ["prompt"], values: [{ prompt: "a pier" }, { prompt: "a bridge" }] },
      {
        names: ["duration"],
        values: sorted([1, 2, 3, 4, 5, 6, 7, 8, 3600], durations ?? []).map((duration) => ({ duration }))
      },
      {
        names: pixels,
        title: "resolution",
        values: sorted(Resolution.literals, resolutions).map((resolution) => ({
          resolution,
          aspect_ratio: first.aspect_ratio,
          size: undefined
        }))
      },
      {
        names: pixels,
        title: "aspect_ratio",
        values: sorted(AspectRatio.literals, aspect_ratios).map((aspect_ratio) => ({
          resolution: first.resolution,
          aspect_ratio,
          size: undefined
        }))
      },
      {
        names: pixels,
        title: "size",
        values: ["16x16", "64x64", ...sizes.map(({ size }) => size)].map((size) => ({
          resolution: undefined,
          aspect_ratio: undefined,
          size
        }))
      },
      { names: ["seed"], values: [{ seed: 7 }, { seed: 8 }] },
      { names: ["frame_images"], title: "frame_images: first frame", values: [frames("a"), frames("b")] },
      {
        names: ["frame_images"],
        title: "frame_images: first and last frame",
        values: [frames("a", "c"), frames("a", "d")]
      },
      ...[image, audio, clip].map((referenceOf) => ({
        names: ["input_references"],
        title: `input_references: ${referenceOf("e").type}`,
        values: ["e", "f"].map((name) => ({ input_references: [referenceOf(name)] }))
      })),
      // In the request with every field, all three.
      {
        names: ["input_references"],
        title: "",
        values: ["e", "f"].map((name) => ({ input_references: [image(name), audio(name), clip(name)] }))
      },
      { names: ["generate_audio"], values: [{ generate_audio: true }, { generate_audio: false }] },
      { names: ["creativity"], values: [{ creativity: 1 }, { creativity: 2 }] },
      { names: ["upscale_factor"], values: [{ upscale_factor: 2 }, { upscale_factor: 4 }] },
      optionsOf(adapter, offer.passthrough?.documented[0])
    ],
    (request) =>
      outcomeOf(
        Video.unsupported(request, capabilities, publicId),
        Effect.andThen(offer.check(request), offer.submit({ request, token: "token" }, ownOf(offer))),
        sent,
        offer.ignored?.(request) ?? []
      )
  )
}

/** A recorded request, without what is random in it. */
const textOf = ({ headers, method, text, url }: Recorded): string => {
  const [, boundary] = /boundary="?([^";]+)/.exec(headers["content-type"] ?? "") ?? []
  return `${method} ${url} ${boundary === undefined ? text : text.replaceAll(boundary, "boundary")}`
}

/** What a call sent: an upload and a job are two requests. */
const takeFrom = ({ state }: Double) =>
  Effect.sync(() => {
    const requests = state.requests.splice(0).map(textOf)
    return requests.length === 0 ? undefined : requests.join("\n")
  })

/** Uploads succeed, so that what follows them is sent. */
const answerTo = ({ url }: Recorded) =>
  url.endsWith("/v2/upload") ? { body: { upload_url: "https://example.com/upload" } } : { status: 500 }

/** The offers of an adapter, and what they sent since it was last asked. */
const offered = Effect.fnUntraced(function* (adapter: AnyAdapter) {
  const fileSystem = yield* FileSystem.FileSystem
  const file = `${yield* fileSystem.makeTempDirectoryScoped()}/sent`
  const double = yield* started(() => startDouble({ answerTo }))
  const models = modelsOf(adapter, file)
  assert.isNotEmpty(models, `give ${adapter.name} models in this test`)
  const credential = credentialOf(adapter, "test-secret-0123456789")
  const upstream = { name: adapter.name, baseUrl: `${double.url}${pathOf(adapter)}`, credential }
  const fromFile = fileSystem.readFileString(file).pipe(
    Effect.tap(fileSystem.remove(file)),
    Effect.orElseSucceed(() => undefined)
  )
  const sent = Effect.flatMap(takeFrom(double), (text) => (text === undefined ? fromFile : Effect.succeed(text)))
  return { offers: yield* adapter.offers(upstream, models), sent }
})

/** The headings of the page. */
const titles: Readonly<Record<Offer["kind"], string>> = {
  rerank: "Rerank",
  transcription: "Transcription",
  video: "Video"
}

/** The fields that no adapter serves. */
const unserved: { readonly [K in Offer["kind"]]?: ReadonlyArray<string> } = {}

const of = (kind: Offer["kind"]) =>
  adapters.filter(({ kinds }) => kinds.includes(kind)).map((each) => [each.name, each] as const)

describe("every adapter", () => {
  /** Many calls, some of which start processes. */
  const limit = 120_000

  const run = Effect.fnUntraced(function* <K extends Offer["kind"]>(
    adapter: AnyAdapter,
    kind: K,
    check: (
      adapter: AnyAdapter,
      offer: Extract<Offer, { readonly kind: K }>,
      sent: Effect.Effect<string | undefined>
    ) => Effect.Effect<void>
  ) {
    const { offers, sent } = yield* offered(adapter)
    const isOfKind = (offer: Offer): offer is Extract<Offer, { readonly kind: K }> => offer.kind === kind
    const own = offers.filter(isOfKind)
    assert.isNotEmpty(own)
    yield* Effect.forEach(own, (offer) => check(adapter, offer, sent), { discard: true })
  }, Effect.provide(services))

  for (const [name, adapter] of of("rerank")) {
    it.live(`loses no field of a rerank at ${name}`, () => run(adapter, "rerank", rerank), limit)
  }
  for (const [name, adapter] of of("transcription")) {
    it.live(
      `loses no field of a transcription at ${name} [spec M13 M19]`,
      () => run(adapter, "transcription", transcription),
      limit
    )
  }
  for (const [name, adapter] of of("video")) {
    it.live(
      `loses no field of a video at ${name} [spec N27 N31 N32 N33 N34 N38 N41 N42]`,
      () => run(adapter, "video", video),
      limit
    )
  }

  /** One word for all offers of an adapter. */
  const cellOf = (treatments: ReadonlyArray<Treatment> = []): string => {
    if (treatments.length === 0) return ""
    if (treatments.every((treatment) => treatment === "yes")) return "yes"
    if (treatments.includes("yes")) return "some models"
    return treatments.includes("warning") ? "ignored" : "no"
  }

  it("is in the tables of the reference page (written by vitest run --update)", async () => {
    const tables = [...results].map(([kind, fields]) => {
      const names = of(kind).map(([name]) => name)
      const rows = [...fields].map(([title, providers]) => [
        `\`${title}\``,
        ...names.map((name) => cellOf(providers.get(name)))
      ])
      expect(rows.flat()).not.toContain("")
      // Every field is served by somebody.
      expect(rows.filter((cells) => !cells.some((cell) => /yes|some/.test(cell))).map(([title]) => title)).toEqual(
        unserved[kind] ?? []
      )
      return [`## ${titles[kind]}`, table(["", ...names.map((name) => `\`${name}\``)], rows)].join("\n\n")
    })
    expect(tables.length).toBe(Object.keys(titles).length)
    await expectTables(new URL("../../../docs/reference/provider-parameters.md", import.meta.url), tables)
  })
})
