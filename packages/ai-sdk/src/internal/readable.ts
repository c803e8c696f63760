/** A Stream as a `ReadableStream`. An abort ends it with an error, never as if it were complete. */
import * as Stream from "effect/Stream"

/** Nothing is read before the first `read`. */
export const toReadable = <E>(
  stream: Stream.Stream<Uint8Array, E>,
  signal: AbortSignal | undefined
): ReadableStream<Uint8Array> => {
  const iterator = Stream.toAsyncIterable(stream)[Symbol.asyncIterator]()
  let abort = () => {}
  const settled = () => signal?.removeEventListener("abort", abort)
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        abort = () => {
          settled()
          controller.error(signal?.reason)
          // The reader has its reason already. An unhandled rejection would end the process.
          iterator.return?.().catch(() => {})
        }
        if (signal?.aborted === true) return abort()
        signal?.addEventListener("abort", abort)
      },
      pull: async (controller) => {
        const next = await iterator.next().catch((error: unknown) => {
          settled()
          throw error
        })
        if (signal?.aborted === true) return
        if (next.done !== true) return controller.enqueue(next.value)
        settled()
        controller.close()
      },
      cancel: async () => {
        settled()
        await iterator.return?.()
      }
    },
    { highWaterMark: 0 }
  )
}
