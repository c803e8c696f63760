/** The services of video jobs over a real database, with an upstream whose every word the test decides. */
import type { Request } from "@model-gateway/core/Video"
import type { VideoModel } from "@model-gateway/providers/Model"
import type { Provider, VideoRequest, VideoStatus, VideoSubmission } from "@model-gateway/providers/Provider"
import type { ProviderError } from "@model-gateway/providers/ProviderError"
import { Duration, Effect, Layer, Stream } from "effect"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Accounting, type Payer } from "../../src/accounting/Accounting.ts"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as ModelCatalogue from "../../src/routing/ModelCatalogue.ts"
import * as Router from "../../src/routing/Router.ts"
import { type NewJob, type SubmitVideo, VideoJobs, layerSql } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoSignals from "../../src/video/VideoSignals.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as TestStorage from "../TestStorage.ts"

/** What the upstream was asked, and what it will answer. */
export interface Upstream {
  readonly provider: Provider
  /** Every submission, with its token. */
  readonly submissions: Array<VideoSubmission>
  /** The requests of those. */
  readonly submitted: Array<VideoRequest>
  /** The jobs that it has, by token: submitted again under the same token a job stays the same. */
  readonly jobs: Map<string, string>
  readonly cancelled: Array<string>
  polls: number
  submit: (submission: VideoSubmission) => Effect.Effect<{ readonly upstreamId: string }, ProviderError>
  poll: (upstreamId: string) => Effect.Effect<VideoStatus, ProviderError>
  content: (index: number) => Stream.Stream<Uint8Array, ProviderError>
}

/** The test's model: 480p and 720p, up to 10 seconds, a cent a second. */
export const model: VideoModel = {
  kind: "video",
  id: "test/film",
  name: "Film",
  provider: "test",
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
export const makeUpstream = (models: ReadonlyArray<VideoModel> = [model], name = "test"): Upstream => {
  const upstream: Upstream = {
    submissions: [],
    submitted: [],
    jobs: new Map(),
    cancelled: [],
    polls: 0,
    submit: ({ token }) =>
      Effect.sync(() => {
        const upstreamId = upstream.jobs.get(token) ?? `${name === "test" ? "up" : name}-${upstream.jobs.size + 1}`
        upstream.jobs.set(token, upstreamId)
        return { upstreamId }
      }),
    poll: () => Effect.succeed({ status: "completed", outputs: 1 }),
    content: (index) => Stream.make(new TextEncoder().encode(`video ${index}`)),
    provider: {
      name,
      models,
      video: {
        check: () => Effect.void,
        submit: (submission) =>
          Effect.suspend(() => {
            upstream.submissions.push(submission)
            upstream.submitted.push(submission.request)
            return upstream.submit(submission)
          }),
        poll: ({ upstreamId }) =>
          Effect.suspend(() => {
            upstream.polls++
            return upstream.poll(upstreamId)
          }),
        content: ({ index }) => Stream.suspend(() => upstream.content(index)),
        cancel: ({ upstreamId }) =>
          Effect.sync(() => {
            upstream.cancelled.push(upstreamId)
          })
      }
    }
  }
  return upstream
}

/** All that jobs need over a database file; each use is a process of its own as far as the database can tell. */
export const layerAt = <E1, R1, E2, R2>(
  filename: string,
  providers: ReadonlyArray<Provider>,
  queue: Layer.Layer<VideoQueue.VideoQueue, E1, R1>,
  objects: Layer.Layer<ObjectStore.ObjectStore, E2, R2>
) =>
  layerSql.pipe(
    Layer.provideMerge(
      Layer.mergeAll(queue, objects, VideoSignals.layer, ModelCatalogue.layer(providers), Router.layer)
    ),
    Layer.provideMerge(TestStorage.layerAt(filename)),
    Layer.fresh
  )

/** With a queue that goes by the test's clock, and objects in memory. */
export const layer = (...providers: ReadonlyArray<Provider>) =>
  Layer.unwrap(
    Effect.map(TestStorage.temporaryFolder, (folder) =>
      layerAt(`${folder}/gateway.db`, providers, VideoQueue.layerMemory, ObjectStore.layerMemory)
    )
  )

/** The default workspace, with a credit unless told otherwise, and a key in it. */
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
export const holding = (payer: Payer, amount: number) => (job: NewJob) =>
  Effect.flatMap(Accounting, (accounting) =>
    accounting.reserve({
      id: job.intentId,
      jobId: job.jobId,
      isByok: job.isByok,
      payer,
      operation: "video",
      model: "test/film",
      amount: MicroCredits.make(amount)
    })
  )

/** Submits a job of 5 seconds, which costs 50 000 micro-credits. */
export const submit = Effect.fnUntraced(function* (
  by: { readonly keyHash: string; readonly workspaceId: string; readonly guardrailId: null },
  more?: {
    readonly lifetime?: Duration.Duration
    readonly request?: Partial<Request>
    readonly fallbacks?: SubmitVideo["fallbacks"]
  }
) {
  const costs = [50_000, ...(more?.fallbacks ?? []).map(({ cost_micro }) => cost_micro)]
  return yield* (yield* VideoJobs).submit(
    {
      owner: by,
      request: { model: "test/film", prompt: "a harbour", duration: 5, ...more?.request },
      provider: "test",
      upstreamModel: "test/film",
      fallbacks: more?.fallbacks,
      cost: MicroCredits.make(50_000),
      callbackUrl: null,
      lifetime: more?.lifetime ?? Duration.hours(24)
    },
    holding(by, Math.max(...costs))
  )
})
