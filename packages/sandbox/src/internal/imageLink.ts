/**
 * Fetches images by their https URLs, within bounds of bytes and time. The client connects to
 * public addresses only: see `UpstreamHttp.LinkClient`.
 */
import { LinkClient } from "@model-gateway/offers/UpstreamHttp"
import { Data, Duration, Effect, Semaphore, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { Buffer } from "node:buffer"

/** The maximum number of bytes of one image. */
export const maxBytes = 8 * 1024 * 1024

/** The longest time to fetch one image, with the wait for the others. */
export const timeLimit = Duration.seconds(10)

/**
 * The maximum number of images that are fetched at the same time, whatever the number of requests.
 */
const concurrency = 4

/** An image cannot be had. `message` is for the caller. */
export class NoImage extends Data.TaggedError("NoImage")<{ readonly message: string }> {}

const fail = (message: string) => Effect.fail(new NoImage({ message }))

const unreachable = "the image cannot be fetched"

const mebibytes = maxBytes / (1024 * 1024)

/** Makes the function that fetches an image. Without a client, it fetches none. */
export const make: Effect.Effect<(url: string) => Effect.Effect<Buffer, NoImage>> = Effect.gen(function* () {
  const client = yield* LinkClient
  const fetching = yield* Semaphore.make(concurrency)
  if (client === undefined) {
    return () => fail("send a data:image/…;base64, URI, because this gateway fetches no links")
  }

  const fetchNow = Effect.fnUntraced(function* (url: string): Effect.fn.Return<Buffer, NoImage> {
    const response = yield* Effect.catch(client.execute(HttpClientRequest.get(url)), ({ reason }) =>
      fail(reason._tag === "InvalidUrlError" ? "the link leads to a host that is not public" : unreachable)
    )
    const chunks: Array<Uint8Array> = []
    let size = 0
    if (response.status !== 200) yield* Effect.ignore(Stream.runDrain(Stream.take(response.stream, 1)))
    if (response.status >= 300 && response.status < 400) return yield* fail("the link redirects. Send the final link")
    if (response.status !== 200) return yield* fail(`${unreachable}: its host answered with status ${response.status}`)
    yield* Stream.runForEach(response.stream, (chunk) => {
      size += chunk.length
      if (size > maxBytes) return fail(`an image by link has at most ${mebibytes} MiB`)
      chunks.push(chunk)
      return Effect.void
    }).pipe(Effect.mapError((error) => (error instanceof NoImage ? error : new NoImage({ message: unreachable }))))
    return Buffer.concat(chunks)
  })

  return (url: string) =>
    fetching.withPermit(fetchNow(url)).pipe(
      Effect.timeoutOrElse({
        duration: timeLimit,
        orElse: () => fail(`the image did not arrive within ${Duration.toSeconds(timeLimit)} seconds`)
      }),
      // The trace is no business of the host.
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
})
