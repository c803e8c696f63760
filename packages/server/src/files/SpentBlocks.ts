/**
 * Frees the memory of a request's body as soon as it has been stored, instead of when the garbage collector comes by.
 *
 * Every read from a socket is a block of its own. V8 lets 64 MiB and more of them pile up before it collects, so that one large upload would make the process grow by that much. Once as
 * many bytes of the file are stored as had come in all, headers and other parts included, when a block was received, what is being stored lies behind that block's end, and nobody
 * has a use for it any more.
 */

/** What is known of the blocks of one request and of the one file in it. */
export interface SpentBlocks {
  /** Hears of each block of the body, in order, as it comes. */
  readonly received: (block: Uint8Array) => void
  /** Hears of each chunk of the file, in order, when it was stored. No chunk may be read after that. */
  readonly stored: (chunk: Uint8Array) => void
}

/** Of a body that has much before its file, or after it, blocks would wait in vain: the oldest are left to the collector. */
const mostWaiting = 64

interface Waiting {
  readonly buffer: ArrayBuffer
  /** How many bytes of the body had come with it. */
  readonly end: number
}

/** For one request. */
export const make = (): SpentBlocks => {
  const waiting: Array<Waiting> = []
  let receivedBytes = 0
  let storedBytes = 0
  return {
    received: ({ buffer, byteLength }) => {
      receivedBytes += byteLength
      // A block of which the body is only a part may hold the next request, or belong to a pool of buffers.
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
