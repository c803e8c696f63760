/** A Stream as a `ReadableStream` that ends early with an error, never as if it were complete. */
import { type Context, Stream } from "effect"

/** Ends streams that are being read, with a reason. */
export type Open = Set<(reason: unknown) => void>

/**
 * Nothing is read before the first `read`. While it is read, `open` contains a function that fails
 * it. An abort of the signal fails it at once, also while nobody reads.
 * `Stream.toReadableStreamWith` would end it then instead, so that half a file looked like a whole
 * one.
 */
export const toReadable = <A, E, R>(
  stream: Stream.Stream<A, E, R>,
  context: Context.Context<R>,
  open: Open,
  signal: AbortSignal | undefined
): ReadableStream<A> => {
  const iterator = Stream.toAsyncIterableWith(stream, context)[Symbol.asyncIterator]()
  let fail: (reason: unknown) => void
  const abort = () => fail(signal?.reason)
  const settled = () => {
    open.delete(fail)
    signal?.removeEventListener("abort", abort)
  }
  return new ReadableStream<A>(
    {
      start: (controller) => {
        fail = (reason) => {
          settled()
          controller.error(reason)
          // The reader has its reason already. An unhandled rejection would end the process.
          iterator.return?.().catch(() => {})
        }
        if (signal?.aborted === true) return abort()
        open.add(fail)
        signal?.addEventListener("abort", abort, { once: true })
      },
      pull: async (controller) => {
        const next = await iterator.next().catch((error: unknown) => {
          settled()
          throw error
        })
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
