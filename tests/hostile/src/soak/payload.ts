/** Bytes that both processes can compute. */
import { createHash } from "node:crypto"

/** `size` bytes that repeat a pattern of 61 bytes, so that no two parts of a download are equal. */
export const bytesOf = (name: string, size: number): Buffer<ArrayBuffer> =>
  Buffer.alloc(size, createHash("sha512").update(name).digest().subarray(0, 61))

export const digestOf = (bytes: Uint8Array): string => createHash("sha1").update(bytes).digest("hex")
