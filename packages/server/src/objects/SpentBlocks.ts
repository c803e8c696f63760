/**
 * Frees the memory of a request's body as soon as it is stored, without waiting for the garbage
 * collector.
 *
 * Every read from a socket allocates a block. V8 lets 64 MiB and more of them accumulate before it
 * collects, so one large upload would grow the process by that much. A block is free once the
 * stored bytes pass its end offset. That offset counts all bytes received, including headers and
 * other parts, so the block is certainly behind the data being stored.
 */

/** Tracks the blocks of one request and of its one file. */
export interface SpentBlocks {
  /** Call with each block of the body, in order, when it arrives. */
  readonly received: (block: Uint8Array) => void
  /**
   * Call with each chunk of the file, in order, after it is stored. The chunk must not be read
   * afterward.
   */
  readonly stored: (chunk: Uint8Array) => void
}

/**
 * If the body has much data before or after its file, blocks would wait too long. The oldest ones
 * are then left to the garbage collector.
 */
const mostWaiting = 64

interface Waiting {
  readonly buffer: ArrayBuffer
  /** The number of body bytes received up to the end of this block. */
  readonly end: number
}

/** Makes a tracker for one request. */
export const make = (): SpentBlocks => {
  const waiting: Array<Waiting> = []
  let receivedBytes = 0
  let storedBytes = 0
  return {
    received: ({ buffer, byteLength }) => {
      receivedBytes += byteLength
      // If the block is only part of its buffer, the buffer may hold the next request or belong to
      // a pool.
      if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer && !buffer.resizable) {
        if (waiting.length === mostWaiting) waiting.shift()
        waiting.push({ buffer, end: receivedBytes })
      }
    },
    stored: ({ byteLength }) => {
      storedBytes += byteLength
      let spent = waiting[0]
      while (spent !== undefined && spent.end <= storedBytes) {
        spent.buffer.transfer(0)
        waiting.shift()
        spent = waiting[0]
      }
    }
  }
}
