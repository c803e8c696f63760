/**
 * Decodes the base64 of a JSON string incrementally.
 *
 * No request keeps its audio in memory (attack `transcriptions`). The decoder is strict: the
 * platform's own skips characters that are not base64.
 */

/** Decodes one string. */
export interface Base64Stream {
  /** Decodes the next bytes of the string, which may contain JSON escapes. */
  readonly push: (bytes: Uint8Array) => Uint8Array
  /** At the end of the string: the remaining bytes, or undefined if the string is not base64. */
  readonly end: () => Uint8Array | undefined
}

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/

/** An escape such as `\u002f` has at most this length. */
const maxEscapeLength = 6

const nothing = new Uint8Array(0)

/** The last position at which the text can be cut without splitting an escape. */
const safeEnd = (text: string): number => {
  const at = text.lastIndexOf("\\")
  if (at === -1 || text.length - at >= maxEscapeLength) return text.length
  // An escaped backslash is not base64 anyway.
  return at
}

const unescape = (text: string): string | undefined => {
  if (!text.includes("\\")) return text
  try {
    const parsed: unknown = JSON.parse(`"${text}"`)
    return typeof parsed === "string" ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Makes the decoder of one string. */
export const make = (): Base64Stream => {
  let escaped = ""
  let carried = ""
  let isValid = true

  const decode = (written: string): Uint8Array => {
    const text = unescape(written)
    if (text === undefined) {
      isValid = false
      return nothing
    }
    // Padding ends the string, so only padding may follow it.
    const all = carried + text
    if (!alphabet.test(all)) {
      isValid = false
      return nothing
    }
    const whole = all.endsWith("=") ? 0 : all.length - (all.length % 4)
    carried = all.slice(whole)
    return Buffer.from(all.slice(0, whole), "base64")
  }

  return {
    push: (bytes) => {
      if (!isValid) return nothing
      const text = escaped + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
      const end = safeEnd(text)
      escaped = text.slice(end)
      return decode(text.slice(0, end))
    },
    end: () => {
      const rest = decode(escaped)
      if (!isValid || carried.length % 4 !== 0) return undefined
      return Buffer.concat([rest, Buffer.from(carried, "base64")])
    }
  }
}
