/**
 * Submitting, reading, downloading and canceling video jobs.
 *
 * Specification: "POST /videos", "Video job".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases, TooManyRequests, Unauthorized } from "@model-gateway/core/GatewayError"
import { isFinal, type ListedJob, type ListOptions, type Request } from "@model-gateway/core/Video"
import { Duration, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as CallbackUrl from "../http/CallbackUrl.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as ContentResponse from "../http/ContentResponse.ts"
import { contentLost, storeUnavailable } from "../http/ObjectFailures.ts"
import { ObjectStore } from "../objects/ObjectStore.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { orUnavailable } from "../http/Failures.ts"
import { Lifecycle } from "../http/Lifecycle.ts"
import * as Paging from "../http/Paging.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as PaidWork from "../admission/PaidWork.ts"
import type { Key } from "../access/Key.ts"
import { KeyStore } from "../access/KeyStore.ts"
import type * as Routing from "../routing/Candidate.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as AllowedProviderKeys from "../routing/AllowedProviderKeys.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import * as Warnings from "../routing/Warnings.ts"
import * as AcceptedModel from "../video/AcceptedModel.ts"
import * as VideoAcceptance from "../video/VideoAcceptance.ts"
import type { Candidate } from "../video/VideoCandidate.ts"
import * as Wire from "../video/VideoJob.ts"
import { VideoJobs } from "../video/VideoJobs.ts"
import * as VideoRequests from "../video/VideoRequest.ts"
import { VideoWaits } from "../video/VideoWaits.ts"

const noSuchJob = (id: string) => new NotFound({ error: { message: `${phrases[404]}: there is no video job ${id}` } })

const noSuchVideo = (why: string) => new NotFound({ error: { message: `${phrases[404]}: ${why}` } })

const toCandidate = (
  wanted: typeof Request.Type,
  { credential, offer }: Routing.Candidate<VideoOffer>,
  { isFreeTier }: Key
): Candidate => {
  const complete = VideoRequests.complete(wanted, offer.capabilities)
  const request = VideoRequests.forProvider(complete, offer.provider)
  return {
    provider: offer.provider,
    upstream_model: offer.upstreamId,
    credential: credential.id,
    cost_micro: offer.quote(request),
    ...(offer.model === undefined ? {} : { model: AcceptedModel.of(offer.model) }),
    ...(complete.duration === undefined ? {} : { duration: complete.duration }),
    generate_audio: complete.generate_audio,
    ...(isFreeTier && !AllowedProviderKeys.usesProviderKey({ credential, offer }) ? { is_free_tier: true } : {}),
    ...Warnings.of(offer, request)
  }
}

/** Requests up to this size are bounded by their number. */
const maxSmallRequest = 64 * 1024

const mebibyte = 1024 * 1024

/** How often a long poll checks whether its key can still be used. The cache of keys answers. */
const recheckKeyEvery = "1 second"

/** The services that the operations need, looked up once. */
const make = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const jobs = yield* VideoJobs
  const keys = yield* KeyStore
  const lifecycle = yield* Lifecycle
  const objects = yield* ObjectStore
  const waits = yield* VideoWaits
  const workspaces = yield* WorkspaceStore
  const workspaceOf = yield* CallerWorkspace.make
  const { basePath, videos } = yield* GatewayServerConfig
  const toWire = (job: Wire.VideoJob) => Wire.toWire(job, basePath)
  const { accept, permit } = yield* PaidWork.makeAccepted<VideoRequest, VideoOffer>({
    kind: "video",
    find: catalog.video
  })

  /** Refuses a request for which the workspace's unfinished jobs leave no room. */
  const withinRequests = Effect.fnUntraced(function* (workspaceId: string, bytes: number) {
    if (bytes <= maxSmallRequest) return
    const open = yield* orUnavailable(jobs.openRequestBytes(workspaceId))
    if (open + bytes <= videos.requests) return
    const [max, taken, size] = [videos.requests, open, bytes].map((count) => (count / mebibyte).toFixed(1))
    const message =
      `${phrases[429]}: the requests of a workspace's unfinished video jobs may take ${max} MiB together. ` +
      `They take ${taken} MiB, and this one needs ${size} MiB. Wait for a job to end, or cancel one`
    return yield* new TooManyRequests({ error: { message, metadata: { retry_after: 30 } } })
  })

  const submit = Effect.fnUntraced(function* (wanted: typeof Request.Type, idempotencyKey: string | undefined) {
    yield* CallbackUrl.check("callback_url", wanted.callback_url)
    yield* VideoAcceptance.check(wanted)
    const permitted = yield* permit(wanted)
    const { ephemeral, key } = permitted.caller
    return yield* accept(
      permitted,
      {
        supporting: VideoAcceptance.supporting(catalog, wanted),
        requestFor: (offer) => VideoRequests.forOffer(wanted, offer),
        idempotencyKey,
        payload: Effect.sync(() => [JSON.stringify(wanted)]),
        encode: (job: Wire.VideoJob) => JSON.stringify(toWire(job))
      },
      Effect.fnUntraced(function* ([first, ...others], { keep, reserve }) {
        const workspace = yield* orUnavailable(
          Effect.catchTag(workspaces.find(key.workspaceId), "WorkspaceNotFound", Effect.die)
        )
        const job = yield* orUnavailable(
          jobs.submit(
            {
              owner: { keyHash: key.hash, workspaceId: key.workspaceId },
              ephemeralHash: ephemeral?.hash,
              request: VideoRequests.complete(wanted, first.offer.capabilities),
              candidates: [toCandidate(wanted, first, key), ...others.map((other) => toCandidate(wanted, other, key))],
              callbackUrl: wanted.callback_url ?? workspace.defaultCallbackUrl,
              lifetime: videos.lifetime
            },
            (job) => Effect.andThen(withinRequests(key.workspaceId, job.requestBytes), reserve(job)),
            keep
          )
        )
        yield* Metrics.jobEntered(job.status)
        return job
      })
    )
  })

  /**
   * A job that the caller may see. An ordinary key sees the jobs of its workspace, a management key
   * those of its organization, and a restricted ephemeral key only its own.
   */
  const find = Effect.fnUntraced(
    function* (id: string) {
      const caller = yield* currentCaller
      const { key } = caller
      if (!key.isManagement) {
        const job = yield* jobs.get(key.workspaceId, id)
        const own = limitedTo(caller)
        return own === undefined || job.ephemeralHash === own ? job : yield* noSuchJob(id)
      }
      const job = yield* jobs.find(id)
      if (job === null || !Permission.sees(key, job.workspaceId)) return yield* noSuchJob(id)
      yield* workspaces.get(key.organizationId, job.workspaceId)
      return job
    },
    (effect, id) =>
      Effect.catchTags(orUnavailable(effect), {
        VideoJobNotFound: () => Effect.fail(noSuchJob(id)),
        WorkspaceNotFound: () => Effect.fail(noSuchJob(id))
      })
  )

  /** The jobs that a list is about. */
  const scopeOf = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    const caller = yield* currentCaller
    const { isManagement, organizationId } = caller.key
    if (workspaceId === "all" && isManagement) {
      return { organizationId, workspaceIds: yield* Permission.callerWorkspaces }
    }
    const workspace = yield* workspaceOf(workspaceId === "all" ? undefined : workspaceId)
    return { workspaceId: workspace.id, ephemeralHash: limitedTo(caller) }
  })

  const list = Effect.fnUntraced(function* (query: ListOptions) {
    const { key } = yield* currentCaller
    const filter = {
      status: query.status,
      keyHash: query.key_hash,
      model: query.model,
      ...(yield* Timestamp.toRange(query))
    }
    const page = yield* orUnavailable(jobs.list(yield* scopeOf(query.workspace_id), filter, query))
    const hashes = page.items.map(({ keyHash }) => keyHash)
    const names = key.isManagement ? yield* orUnavailable(keys.names(key.organizationId, hashes)) : undefined
    return Paging.toWire(page, (job): typeof ListedJob.Type => {
      const name = names?.get(job.keyHash)
      return {
        ...toWire(job),
        finished_at: Timestamp.fromMillisOrNull(job.completedAt),
        workspace_id: job.workspaceId,
        ...(names === undefined ? {} : { key_hash: job.keyHash }),
        ...(name === undefined ? {} : { key_name: name })
      }
    })
  })

  /** The wait ends when its key expires or is revoked. */
  const stillAuthorized = Effect.flatMap(currentCaller, (caller) =>
    orUnavailable(keys.refresh(caller)).pipe(
      Effect.catchTag("InvalidKey", ({ message }) => Effect.fail(new Unauthorized({ error: { message } })))
    )
  )

  /** Waits until the status of the job changes, the time is over or the service stops. */
  const awaitChange = Effect.fnUntraced(function* (job: Wire.VideoJob, seconds: number) {
    const { key } = yield* currentCaller
    if (!(yield* waits.enter(key.hash))) return job
    const timeIsOver = Effect.raceFirst(Effect.sleep(Duration.seconds(seconds)), lifecycle.awaitStop)
    const keyIsRevoked = Effect.forever(Effect.andThen(Effect.sleep(recheckKeyEvery), stillAuthorized))
    const now = yield* orUnavailable(waits.changed(job, Effect.raceFirst(timeIsOver, keyIsRevoked)))
    yield* stillAuthorized
    return now ?? (yield* noSuchJob(job.id))
  }, Effect.scoped)

  const get = Effect.fnUntraced(function* (job: Wire.VideoJob, wait: number | undefined) {
    return toWire(wait === undefined || wait === 0 || isFinal(job.status) ? job : yield* awaitChange(job, wait))
  })

  const content = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    job: Wire.VideoJob,
    index: number
  ) {
    if (job.status !== "completed") return yield* noSuchVideo(`the video job is ${job.status} and has no video`)
    const output = job.outputs[index]
    if (output === undefined) return yield* noSuchVideo(`the video job has no video ${index}`)
    return yield* ContentResponse.make(objects, request, {
      objectKey: output.object_key,
      sha256: output.sha256,
      contentType: "video/mp4",
      filename: `${job.id}-${index}.mp4`,
      disposition: "inline"
    }).pipe(
      Effect.catchTags({
        ObjectNotFound: () => contentLost(output.object_key),
        ObjectStoreError: storeUnavailable
      })
    )
  })

  const cancel = Effect.fnUntraced(function* (before: Wire.VideoJob) {
    const job = yield* orUnavailable(jobs.cancel(before.workspaceId, before.id)).pipe(
      Effect.catchTag("VideoJobNotFound", () => Effect.fail(noSuchJob(before.id)))
    )
    if (job.status === "cancelled" && before.status !== "cancelled") yield* Metrics.jobEntered(job.status)
    return toWire(job)
  })

  return { submit, list, find, get, content, cancel }
})

/** The `videos` group of the contract. */
export const layer = RequestServices.group(make, ({ cancel, content, find, get, list, submit }) =>
  HttpApiBuilder.group(GatewayApi, "videos", (handlers) =>
    handlers
      .handle("submitVideo", ({ headers, payload }) => submit(payload, headers["idempotency-key"]))
      .handle("listVideos", ({ query }) => list(query))
      .handle("getVideo", ({ params, query }) => Effect.flatMap(find(params.id), (job) => get(job, query.wait)))
      .handle("videoContent", ({ params, query, request }) =>
        Effect.flatMap(find(params.id), (job) => content(request, job, query.index ?? 0))
      )
      .handle("cancelVideo", ({ params }) => Effect.flatMap(find(params.id), cancel))
  )
)
