/**
 * The upstreams, the object store and the receiver of webhooks of a run. They remember what they
 * did and outlive the processes of the service.
 */
import { gatewayCredential, type Offers } from "@model-gateway/offers/Offer"
import { cost, searchUnits } from "@model-gateway/offers/Pricing"
import { ProviderError, Timeout, Unavailable } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import type { VideoRequest } from "@model-gateway/offers/Video"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Duration, Effect, Redacted, Stream } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { createHash } from "node:crypto"
import { Vault } from "../../../packages/server/src/access/Vault.ts"
import * as ObjectStore from "../../../packages/server/src/objects/ObjectStore.ts"
import type { Process, World } from "./World.ts"

/** What an upstream billed. */
export interface Bill {
  /** The operation that it served, as its request names it. */
  readonly tag: string
  readonly provider: string
  readonly cost: number
}

interface UpstreamJob {
  readonly handle: string
  readonly tag: string
  readonly provider: string
  readonly cost: number
  readonly seconds: number
  readonly readyAt: number
  cancelledAt: number | undefined
}

/** Upstreams with a memory. */
export interface Upstreams {
  readonly offersOf: (process: Process) => Offers
  /** All bills so far. A video is billed when it is ready, unless it was canceled before. */
  readonly bills: () => ReadonlyArray<Bill>
  /** The content of the video of a job. */
  readonly videoBytes: (handle: string) => Uint8Array
  /** Every job that was accepted, by its handle. */
  readonly jobs: ReadonlyMap<string, UpstreamJob>
}

const tagIn = (text: string | undefined): string => /op-\d+/.exec(text ?? "")?.[0] ?? "unknown"

const timedOut = Effect.fail(new ProviderError({ reason: new Timeout() }))
const unavailable = Effect.fail(new ProviderError({ reason: new Unavailable() }))

const prices = { rank: 1000, hear: 900, film: 10_000 }

/** Makes the upstreams. */
export const makeUpstreams = (world: World): Upstreams => {
  const dice = world.dice("upstreams")
  const answered: Array<Bill> = []
  const jobs = new Map<string, UpstreamJob>()
  const byToken = new Map<string, string>()
  const { simulation } = world

  /** Some answers cost less than was quoted. */
  const charged = (quote: number) => MicroCredits.make(dice.chance(0.4) ? Math.ceil(quote / 2) : quote)

  const call = <A>(process: Process, what: string, effect: Effect.Effect<A, ProviderError>, isSafe: boolean) =>
    Effect.suspend(() => {
      const takes = dice.pick([0, 5, 50, 400, 3_000])
      return world.at(
        process,
        "upstream",
        what,
        Effect.flatMap(effect, (answer) => Effect.as(Effect.sleep(takes), answer)),
        // A call that was not sent certainly had no effect; the service may not know.
        isSafe || dice.chance(0.5) ? unavailable : timedOut
      )
    })

  /** An upstream whose answer is lost may have done the work, so its failure is a timeout. */
  const paid = <A>(process: Process, what: string, effect: Effect.Effect<A, ProviderError>) =>
    Effect.suspend(() => {
      const before = answered.length + jobs.size
      return Effect.catch(call(process, what, effect, false), (error) =>
        answered.length + jobs.size > before ? timedOut : Effect.fail(error)
      )
    })

  const rank = (process: Process, provider: string) => ({
    kind: "rerank" as const,
    publicId: "test/rank",
    upstreamId: "rank-1",
    provider,
    name: "Rank",
    isFree: false,
    credential: gatewayCredential(),
    pricing: { unit: "search_unit" as const, microCredits: prices.rank },
    capabilities: { image_documents: false },
    quote: ({ documents }: RerankRequest) => cost(prices.rank, searchUnits(documents.length)),
    run: ({ documents, query }: RerankRequest) =>
      paid(
        process,
        `${provider} ranks ${tagIn(query)}`,
        Effect.sync(() => {
          const bill = charged(cost(prices.rank, searchUnits(documents.length)))
          answered.push({ tag: tagIn(query), provider, cost: bill })
          world.log(`${provider} ranked ${tagIn(query)} for ${bill}`)
          return {
            answer: { results: documents.slice(0, 3).map((_, index) => ({ index, relevance_score: dice.next() })) },
            charge: { cost: bill, usage: { search_units: searchUnits(documents.length) } }
          }
        })
      )
  })

  const hear = (process: Process, provider: string) => ({
    kind: "transcription" as const,
    publicId: "test/hear",
    upstreamId: "hear-1",
    provider,
    name: "Hear",
    isFree: false,
    credential: gatewayCredential(),
    pricing: { unit: "second" as const, microCredits: prices.hear },
    capabilities: { audio_formats: ["wav" as const], verbose: true, word_timestamps: true },
    quote: ({ audio }: TranscriptionRequest) => cost(prices.hear, audio.durationSeconds),
    // A transcription has no free text, so the length of its audio tells which operation it is.
    run: ({ audio }: TranscriptionRequest) => {
      const tag = `op-${Math.round(audio.durationSeconds * 1000) % 1000}`
      return paid(
        process,
        `${provider} hears ${tag}`,
        Effect.sync(() => {
          const bill = charged(cost(prices.hear, audio.durationSeconds))
          answered.push({ tag, provider, cost: bill })
          world.log(`${provider} transcribed ${tag} for ${bill}`)
          return {
            answer: { text: `heard ${dice.next()}`, duration: audio.durationSeconds, segments: [] },
            charge: { cost: bill, usage: { seconds: audio.durationSeconds } }
          }
        })
      )
    }
  })

  const videoBytes = (handle: string) => new TextEncoder().encode(`the video of ${handle}`)

  const find = (handle: unknown) => (typeof handle === "string" ? jobs.get(handle) : undefined)

  const film = (process: Process, name: "film" | "reel", provider: string, isIdempotent: boolean) => {
    const quote = ({ duration = 5 }: VideoRequest) => cost(prices.film, duration)
    return {
      kind: "video" as const,
      publicId: `test/${name}`,
      upstreamId: name,
      provider,
      name,
      isFree: false,
      credential: gatewayCredential(),
      pricing: { unit: "second" as const, microCredits: prices.film },
      capabilities: {
        resolutions: ["480p" as const],
        aspect_ratios: ["16:9" as const],
        default_duration: 5,
        max_duration: 10,
        prompt_optional: true,
        frame_images: false,
        generate_audio: false,
        upscale: false
      },
      quote,
      isIdempotent,
      check: () => Effect.void,
      submit: ({ request, token }: { readonly request: VideoRequest; readonly token: string }) =>
        paid(
          process,
          `${provider} accepts ${tagIn(request.prompt)}`,
          Effect.sync(() => {
            const known = isIdempotent ? byToken.get(token) : undefined
            if (known !== undefined) return known
            const handle = `${provider}-${jobs.size + 1}`
            byToken.set(token, handle)
            const job: UpstreamJob = {
              handle,
              tag: tagIn(request.prompt),
              provider,
              cost: charged(quote(request)),
              seconds: request.duration ?? 5,
              readyAt: simulation.now() + dice.pick([0, 800, 7_000, 40_000, 100_000]),
              cancelledAt: undefined
            }
            jobs.set(handle, job)
            world.log(`${provider} accepted ${job.tag} as ${handle}`)
            return handle
          })
        ),
      poll: ({ handle }: { readonly handle: unknown }) =>
        call(
          process,
          `${provider} is polled for ${find(handle)?.tag}`,
          Effect.sync(() => {
            const job = find(handle)
            if (job === undefined) return { status: "failed" as const, message: "no such job" }
            if (job.cancelledAt !== undefined) return { status: "failed" as const, message: "cancelled" }
            if (simulation.now() < job.readyAt) return { status: "in_progress" as const, progress: 0.5 }
            return {
              status: "completed" as const,
              outputs: 1,
              charge: { cost: MicroCredits.make(job.cost), usage: { seconds: job.seconds, videos: 1 } }
            }
          }),
          true
        ),
      content: ({ handle }: { readonly handle: unknown }) =>
        Stream.fromEffect(
          call(
            process,
            `${provider} sends the video of ${find(handle)?.tag}`,
            Effect.sync(() => videoBytes(String(handle))),
            true
          )
        ),
      cancel: (handle: unknown) =>
        call(
          process,
          `${provider} cancels ${find(handle)?.tag}`,
          Effect.sync(() => {
            const job = find(handle)
            if (job === undefined || job.cancelledAt !== undefined || simulation.now() >= job.readyAt) return
            job.cancelledAt = simulation.now()
            world.log(`${provider} cancelled ${job.tag} (${job.handle})`)
          }),
          true
        )
    }
  }

  return {
    offersOf: (process) => [
      rank(process, "alpha"),
      rank(process, "beta"),
      hear(process, "alpha"),
      film(process, "film", "alpha", true),
      film(process, "reel", "beta", false)
    ],
    bills: () => [
      ...answered,
      ...Array.from(jobs.values()).filter(
        ({ cancelledAt, readyAt }) => cancelledAt === undefined && readyAt <= simulation.now()
      )
    ],
    videoBytes,
    jobs
  }
}

/** An object store with a memory. */
export interface Objects {
  readonly storeOf: (process: Process) => ObjectStore.ObjectStore["Service"]
  readonly stored: ReadonlyMap<string, { readonly content: Uint8Array; readonly modifiedAt: number }>
}

const failed = (operation: string) =>
  Effect.fail(
    new ObjectStore.ObjectStoreError({
      operation,
      reason: "unavailable",
      message: "The store of files did not answer."
    })
  )

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => Buffer.concat(chunks)

/** Makes the object store. */
export const makeObjects = (world: World): Objects => {
  const stored = new Map<string, { readonly content: Uint8Array; readonly modifiedAt: number }>()
  const found = (key: string) =>
    Effect.suspend(() => {
      const object = stored.get(key)
      return object === undefined ? Effect.fail(new ObjectStore.ObjectNotFound({ key })) : Effect.succeed(object)
    })
  return {
    stored,
    storeOf: (process) => {
      const at = <A, E>(what: string, effect: Effect.Effect<A, E>) =>
        world.at<A, E | ObjectStore.ObjectStoreError>(process, "objects", what, effect, failed(what))
      return ObjectStore.ObjectStore.of({
        check: Effect.void,
        put: Effect.fnUntraced(function* <E, R>(
          key: string,
          content: Stream.Stream<Uint8Array, E, R>,
          options?: ObjectStore.PutOptions
        ) {
          const bytes = concat(yield* Stream.runCollect(content))
          const limit = options?.maxBytes ?? Infinity
          if (bytes.length > limit) return yield* new ObjectStore.ObjectTooLarge({ limit })
          return yield* at(
            `put ${key.split("/")[0]}`,
            Effect.sync(() => {
              stored.set(key, { content: bytes, modifiedAt: world.simulation.now() })
              return { key, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
            })
          )
        }),
        open: (key) =>
          at(
            "open",
            Effect.map(found(key), ({ content }) => ({
              bytes: content.length,
              read: (window?: ObjectStore.ByteWindow) =>
                Stream.fromEffect(
                  at(
                    "read",
                    Effect.map(found(key), (object) =>
                      window === undefined
                        ? object.content
                        : object.content.subarray(window.start, window.start + window.length)
                    )
                  )
                )
            }))
          ),
        removeIncomplete: () => Effect.succeed(0),
        remove: (key) =>
          at(
            `remove ${key.split("/")[0]}`,
            Effect.sync(() => {
              stored.delete(key)
            })
          ),
        list: (kind) =>
          Stream.unwrap(
            at(
              `list ${kind}`,
              Effect.sync(() =>
                Stream.fromIterable(
                  Array.from(stored)
                    .filter(([key]) => key.startsWith(`${kind}/`))
                    .map(([key, { modifiedAt }]): ObjectStore.ListedObject => ({
                      key,
                      age: Duration.millis(world.simulation.now() - modifiedAt)
                    }))
                )
              )
            )
          )
      })
    }
  }
}

/** A webhook that the receiver has accepted. */
export interface Received {
  readonly id: string
  readonly body: string
}

/** A receiver of webhooks with a memory. */
export interface Receiver {
  readonly clientOf: (process: Process) => HttpClient.HttpClient
  readonly received: ReadonlyArray<Received>
}

/** Where the webhooks of a run go. */
export const callbackUrl = "https://receiver.example.com/hooks"

const textOf = ({ body }: HttpClientRequest.HttpClientRequest): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** Makes the receiver. Some of its answers are failures, as long as there are faults. */
export const makeReceiver = (world: World): Receiver => {
  const dice = world.dice("receiver")
  const received: Array<Received> = []
  const failed = new Set<string>()
  return {
    received,
    clientOf: (process) =>
      HttpClient.make((request) =>
        Effect.suspend(() => {
          const id = request.headers["webhook-id"] ?? ""
          // Once for each webhook: a second failure is followed by minutes without anything else.
          const fails = world.hasFaults() && dice.chance(0.2) && !failed.has(id)
          const status = fails ? 500 : 200
          if (fails) failed.add(id)
          const lost = Effect.fail(
            new HttpClientError.HttpClientError({
              reason: new HttpClientError.TransportError({ request, cause: new Error("ECONNRESET") })
            })
          )
          return world.at(
            process,
            "webhook",
            `status ${status}`,
            Effect.sync(() => {
              if (status < 300) received.push({ id, body: textOf(request) })
              return HttpClientResponse.fromWeb(request, new Response(null, { status }))
            }),
            lost
          )
        })
      )
  }
}

/** A vault that encodes and does not encrypt, because encryption takes its own time. */
export const vault = Vault.of({
  seal: (secret) => Effect.sync(() => ({ masterKeyId: "test", dataKey: "", secret: btoa(Redacted.value(secret)) })),
  open: ({ secret }) => Effect.sync(() => Redacted.make(atob(secret))),
  rewrap: () => Effect.undefined
})
