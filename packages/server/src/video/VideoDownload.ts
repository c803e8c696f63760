/**
 * Copies the finished videos of a job from its upstream to the object store, and deletes the copies
 * of a job that did not complete.
 *
 * How many videos there are, how large they are and how fast they come is the upstream's choice. So
 * the number, the bytes of one video and of one job, and the rate are bounded.
 */
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import type { SubmittedVideo } from "@model-gateway/offers/Video"
import { Data, Duration, Effect, Stream } from "effect"
import * as ByteSize from "effect/ByteSize"
import type { Settings } from "../GatewayServerConfig.ts"
import * as HostNames from "../outbound/HostNames.ts"
import { minRate } from "../internal/minRate.ts"
import { keyOf, type ObjectStore, type ObjectStoreError } from "../objects/ObjectStore.ts"
import type { Candidate } from "../routing/Candidate.ts"
import type { Output, VideoJob } from "./VideoJob.ts"

/** The videos of one job. More are not needed by any known upstream. */
export const maxOutputs = 16

/** How long an upstream may send less than the least rate. */
const rateGrace = Duration.seconds(30)

/** The upstream's videos are too many or too large. A retry does not help. */
export class TooMuchVideo extends Data.TaggedError("TooMuchVideo")<{ readonly message: string }> {}

/** The upstream sends a video too slowly. */
export class VideoTooSlow extends Data.TaggedError("VideoTooSlow")<{ readonly message: string }> {}

/** A job where an upstream has accepted it. */
export interface Upstream extends Candidate<VideoOffer> {
  readonly submitted: SubmittedVideo
}

/** Bounds of downloads. */
export interface Options extends Pick<Settings["videos"], "downloadRate" | "maxJobSize" | "maxSize"> {
  /** How long the first bytes of a video may take. */
  readonly firstBytes: Duration.Duration
  /** How long a video may take. */
  readonly wholeVideo: Duration.Duration
  /** The error for a video that takes longer. */
  readonly timedOut: ProviderError
}

/** A size as text. */
const sizeOf = (bytes: number): string => ByteSize.format(ByteSize.bytes(bytes))

const keyAt = (job: Pick<VideoJob, "id">, index: number): string => keyOf("videos", `${job.id}-${index}`)

/** Makes the copying over an object store. */
export const make = (objects: ObjectStore["Service"], options: Options) => {
  const { downloadRate, firstBytes, maxJobSize, maxSize, timedOut, wholeVideo } = options

  const fetchOne = (job: VideoJob, { credential, offer, submitted }: Upstream, index: number, room: number) =>
    objects
      .put(
        keyAt(job, index),
        offer.content({ ...submitted, index }, credential).pipe(
          Stream.provideService(HostNames.Owner, job.workspaceId),
          minRate({
            bytesPerSecond: downloadRate,
            grace: rateGrace,
            first: firstBytes,
            orElse: () =>
              new VideoTooSlow({
                message: `the provider sent the finished video more slowly than ${sizeOf(downloadRate)} per second`
              })
          })
        ),
        { maxBytes: Math.min(maxSize, room) }
      )
      .pipe(
        Effect.timeoutOrElse({ duration: wholeVideo, orElse: () => Effect.fail(timedOut) }),
        Effect.map(({ bytes, key, sha256 }): Output => ({ object_key: key, bytes, sha256 })),
        Effect.catchTag("ObjectTooLarge", () =>
          Effect.fail(
            new TooMuchVideo({
              message:
                room < maxSize
                  ? `the finished videos of the job have more than ${sizeOf(maxJobSize)}, which is the most that the gateway stores`
                  : `a finished video has more than ${sizeOf(maxSize)}, which is the most that the gateway stores`
            })
          )
        )
      )

  /** Stores all videos of a job, one after the other. */
  const fetchAll = Effect.fnUntraced(function* (
    job: VideoJob,
    upstream: Upstream,
    count: number
  ): Effect.fn.Return<ReadonlyArray<Output>, ProviderError | ObjectStoreError | TooMuchVideo | VideoTooSlow> {
    if (count > maxOutputs) {
      return yield* new TooMuchVideo({
        message: `the provider finished the job with ${count} videos. The gateway stores at most ${maxOutputs}`
      })
    }
    const outputs: Array<Output> = []
    let room = maxJobSize
    for (let index = 0; index < count; index++) {
      const output = yield* fetchOne(job, upstream, index, room)
      room -= output.bytes
      outputs.push(output)
    }
    return outputs
  })

  /**
   * Deletes what is stored of a job that ended without being completed. Videos are stored in order,
   * so the first one that is missing is the last one to look for. If the store fails, its sweep
   * deletes them later.
   */
  const remove = Effect.fnUntraced(
    function* (job: Pick<VideoJob, "id">) {
      for (let index = 0; index < maxOutputs; index++) {
        yield* objects.open(keyAt(job, index))
        yield* objects.remove(keyAt(job, index))
      }
    },
    (removed) => Effect.ignore(removed)
  )

  return { fetchAll, remove }
}
