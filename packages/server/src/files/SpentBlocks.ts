/**
 * Frees the memory of a request's body as soon as it has been stored, instead of when the garbage collector comes by.
 *
 * Every read from a socket is a block of its own. V8 lets 64 MiB and more of them pile up before it collects, so that one large upload would make the process grow by that much. A block is
 * freed only when all of its bytes were the file's and were stored: then nobody else (another part of the form, another request on the connection, a pool of buffers) can have
 * any use of it. Blocks of which that is not known are left to the collector.
 */

/** Hears of each chunk, in order, when it was stored. No chunk may be read after that. */
export type SpentBlocks = (chunk: Uint8Array) => void

/** Smaller blocks are not worth it. */
const smallest = 16_384

/** For the chunks of one file. */
export const make = (): SpentBlocks => {
  let block: ArrayBufferLike | undefined
  let end = 0
  return (chunk) => {
    if (chunk.buffer !== block) {
      block = chunk.buffer
      end = 0
    }
    // Each chunk must begin where the one before it ended, the first of them where the block does.
    end = chunk.byteOffset === end ? end + chunk.byteLength : Number.NaN
    if (end !== block.byteLength || end < smallest || !(block instanceof ArrayBuffer) || block.resizable) return
    block.transfer(0)
    block = undefined
  }
}
