/**
 * The services of video jobs over a real database, with an upstream whose answers the test decides.
 */
import type { Request } from "@model-gateway/core/Video"
import { gatewayCredential, type Offers, type VideoOffer } from "@model-gateway/offers/Offer"
import { type Charge, cost, type PerSecond } from "@model-gateway/offers/Pricing"
import type { JobHandle, VideoRequest, VideoStatus, VideoSubmission } from "@model-gateway/offers/Video"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { Duration, Effect, Layer, Stream } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Accounting, type Payer } from "../../src/accounting/Accounting.ts"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as ModelCatalog from "../../src/routing/ModelCatalog.ts"
import * as Router from "../../src/routing/Router.ts"
import type { Candidate } from "../../src/video/VideoCandidate.ts"
import { type NewJob, VideoJobs, layerSql } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoSignals from "../../src/video/VideoSignals.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as TestStorage from "../TestStorage.ts"

/** A status, without its charge: that is the request's quote. */
type Status =
  | VideoStatus
  | (Pick<VideoStatus, "warnings"> & {
      readonly status: "completed"
      readonly outputs: number
      readonly charge?: undefined
    })

/** What the upstream was asked, and what it will answer. */
export interface Upstream {
  readonly offers: Offers
  /** Every submission, with its token. */
  readonly submissions: Array<VideoSubmission>
  /** The requests of those. */
  readonly submitted: Array<VideoRequest>
  /** The jobs that it has, by token: submitted again under the same token a job stays the same. */
  readonly jobs: Map<string, string>
  readonly cancelled: Array<JobHandle>
  /** The credential of every call. */
  readonly credentials: Array<string>
  polls: number
  check: (request: VideoRequest) => Effect.Effect<void, ProviderError>
  submit: (submission: VideoSubmission) => Effect.Effect<JobHandle, ProviderError>
  poll: (handle: JobHandle) => Effect.Effect<Status, ProviderError>
  content: (index: number) => Stream.Stream<Uint8Array, ProviderError>
}

/** What a test decides of an offer. */
export interface Model {
  readonly id: string
  readonly free: boolean
  readonly pricing: PerSecond
  readonly capabilities: VideoOffer["capabilities"]
  /** Default: true. */
  readonly isIdempotent?: VideoOffer["isIdempotent"]
  readonly pollInterval?: Duration.Duration
  readonly ignored?: VideoOffer["ignored"]
}

/** The test's model: 480p and 720p, up to 10 seconds, a cent a second. */
export const model: Model = {
  id: "test/film",
  free: false,
  pricing: { unit: "second", microCredits: 10_000 },
  capabilities: {
    resolutions: ["480p", "720p"],
    aspect_ratios: ["16:9", "9:16"],
    default_duration: 5,
    max_duration: 10,
    prompt_optional: true,
    frame_images: true,
    generate_audio: false,
    upscale: false
  }
}

/** An upstream that accepts every job, finishes it at once, and hands out one short video. */
export const makeUpstream = (models: ReadonlyArray<Model> = [model], name = "test"): Upstream => {
  const upstream: Upstream = {
    submissions: [],
    submitted: [],
    jobs: new Map(),
    cancelled: [],
    credentials: [],
    polls: 0,
    check: () => Effect.void,
    submit: ({ token }) =>
      Effect.sync(() => {
        const handle = upstream.jobs.get(token) ?? `${name === "test" ? "up" : name}-${upstream.jobs.size + 1}`
        upstream.jobs.set(token, handle)
        return handle
      }),
    poll: () => Effect.succeed({ status: "completed", outputs: 1 }),
    content: (index) => Stream.make(new TextEncoder().encode(`video ${index}`)),
    offers: models.map(
      ({ capabilities, free, id, ignored, isIdempotent = true, pollInterval, pricing }): VideoOffer => {
        const quote = ({ duration = capabilities.default_duration }: VideoRequest) =>
          cost(pricing.microCredits, duration)
        return {
          kind: "video",
          publicId: id,
          upstreamId: id,
          provider: name,
          name: "Film",
          isFree: free,
          credential: gatewayCredential(),
          pricing,
          capabilities,
          quote,
          isIdempotent,
          ...(pollInterval === undefined ? {} : { pollInterval }),
          ...(ignored === undefined ? {} : { ignored }),
          check: (request) => Effect.suspend(() => upstream.check(request)),
          submit: (submission, { id }) =>
            Effect.suspend(() => {
              upstream.credentials.push(id)
              upstream.submissions.push(submission)
              upstream.submitted.push(submission.request)
              return upstream.submit(submission)
            }),
          poll: ({ handle, request }, { id }) =>
            Effect.suspend(() => {
              upstream.credentials.push(id)
              upstream.polls++
              return upstream.poll(handle)
            }).pipe(
              Effect.map((status) =>
                status.status === "completed" && status.charge === undefined
                  ? {
                      ...status,
                      charge: {
                        cost: quote(request),
                        usage: { seconds: request.duration ?? capabilities.default_duration, videos: status.outputs }
                      }
                    }
                  : status
              )
            ),
          content: ({ index }, { id }) =>
            Stream.suspend(() => {
              upstream.credentials.push(id)
              return upstream.content(index)
            }),
          cancel: (handle) =>
            Effect.sync(() => {
              upstream.cancelled.push(handle)
            })
        }
      }
    )
  }
  return upstream
}

/** What jobs need, over a database. Each use is a process of its own for the database. */
export const layerAt = <E1, R1, E2, R2>(
  location: string,
  offers: ReadonlyArray<Offers>,
  queue: Layer.Layer<VideoQueue.VideoQueue, E1, R1>,
  objects: Layer.Layer<ObjectStore.ObjectStore, E2, R2>,
  wrap?: Parameters<typeof TestStorage.layerAt>[2]
) =>
  layerSql.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        queue,
        objects,
        VideoSignals.layer,
        ModelCatalog.layer(offers.flat()),
        Layer.provide(Router.layer, CircuitBreaker.layerStoreMemory())
      )
    ),
    Layer.provideMerge(TestStorage.layerAt(location, undefined, wrap)),
    Layer.fresh
  )

/** With a queue that goes by the test's clock, and objects in memory. */
export const layer = (...offers: ReadonlyArray<Offers>) =>
  Layer.unwrap(
    Effect.map(TestStorage.create, (location) =>
      layerAt(location, offers, VideoQueue.layerMemory, ObjectStore.layerMemory)
    )
  )

/** The default workspace, with one credit by default, and a key in it. */
export const payer = Effect.fnUntraced(function* (credits: number = 1_000_000) {
  const workspace = yield* (yield* WorkspaceStore).ensureDefault({ credits: MicroCredits.make(credits) })
  const { key } = yield* (yield* KeyStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: "k"
  })
  return { keyHash: key.hash, workspaceId: workspace.id, guardrailId: null }
})

/** Reserves the cost of a new job, as admission does. */
export const reserving = (payer: Payer, amount: number) => (job: NewJob) =>
  Effect.flatMap(Accounting, (accounting) =>
    accounting.reserve({
      id: job.reservationId,
      jobId: job.jobId,
      isByok: job.isByok,
      payer,
      operation: "video",
      model: "test/film",
      amount: MicroCredits.make(amount)
    })
  )

const atFirst = {
  provider: "test",
  upstream_model: "test/film",
  cost_micro: 50_000,
  duration: 5
} satisfies Candidate

/** What such a job costs. */
export const charge: Charge = { cost: MicroCredits.make(50_000), usage: { seconds: 5, videos: 1 } }

/** Submits a job of 5 seconds, which costs 50 000 micro-credits. */
export const submit = Effect.fnUntraced(function* (
  by: { readonly keyHash: string; readonly workspaceId: string; readonly guardrailId: null },
  more?: {
    readonly lifetime?: Duration.Duration
    readonly request?: Partial<typeof Request.Type>
    readonly fallbacks?: ReadonlyArray<Candidate>
    readonly credential?: string
    /** Default: `test`. */
    readonly provider?: string
    /** The model that the first candidate was accepted with. Default: none is stored. */
    readonly accepted?: Candidate["model"]
    readonly callbackUrl?: string
  }
) {
  const costs = [50_000, ...(more?.fallbacks ?? []).map(({ cost_micro }) => cost_micro)]
  return yield* (yield* VideoJobs).submit(
    {
      owner: by,
      request: { model: "test/film", prompt: "a harbor", duration: 5, ...more?.request },
      candidates: [
        {
          ...atFirst,
          provider: more?.provider ?? "test",
          credential: more?.credential ?? "gateway",
          ...(more?.accepted === undefined ? {} : { model: more.accepted })
        },
        ...(more?.fallbacks ?? [])
      ],
      callbackUrl: more?.callbackUrl ?? null,
      lifetime: more?.lifetime ?? Duration.hours(24)
    },
    reserving(by, Math.max(...costs))
  )
})
