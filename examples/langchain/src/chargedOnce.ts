/**
 * Charges a call once, although a chain repeats it.
 *
 * A call whose response was lost may have been charged. LangChain's `.withRetry()` then makes a new
 * call, which would have an idempotency key of its own and would be charged again. Here the
 * repeated call gets the key of the failed one, so that the gateway returns the response that it
 * kept.
 */
import { createHash, randomUUID } from "node:crypto"

/** The keys of failed calls that may have been charged, by what was asked. */
const unsettled = new Map<string, ReadonlyArray<string>>()

/** The oldest are forgotten beyond this number. */
const maxUnsettled = 1000

/** What identifies a call: its request, and its audio, if it has one. Reads the audio once. */
export const fingerprintOf = async (request: unknown, audio?: Blob): Promise<string> => {
  const hash = createHash("sha256").update(JSON.stringify(request))
  const bytes: ReadableStream<Uint8Array> | undefined = audio?.stream()
  if (bytes !== undefined) for await (const chunk of bytes) hash.update(chunk)
  return hash.digest("base64")
}

// Taken while the call runs: two calls that run at the same time are two charges.
const takeKey = (fingerprint: string): string => {
  const [key = randomUUID(), ...others] = unsettled.get(fingerprint) ?? []
  unsettled.delete(fingerprint)
  if (others.length > 0) unsettled.set(fingerprint, others)
  return key
}

const keepKey = (fingerprint: string, key: string) => {
  const others = unsettled.get(fingerprint) ?? []
  unsettled.delete(fingerprint)
  unsettled.set(fingerprint, [...others, key])
  for (const oldest of unsettled.keys()) {
    if (unsettled.size <= maxUnsettled) return
    unsettled.delete(oldest)
  }
}

/** A status below 500 says that nothing was done. No status is a lost response, or an abort. */
const isRejected = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "status" in error &&
  typeof error.status === "number" &&
  error.status < 500

export const chargedOnce = async <A>(fingerprint: string, call: (idempotencyKey: string) => Promise<A>): Promise<A> => {
  const key = takeKey(fingerprint)
  try {
    return await call(key)
  } catch (error) {
    if (!isRejected(error)) keepKey(fingerprint, key)
    throw error
  }
}
