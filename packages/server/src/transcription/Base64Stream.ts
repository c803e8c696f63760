/**
 * Decodes base64 as it stands in a JSON string, piece by piece.
 *
 * It is strict: the platform's own decoder skips whatever is not base64.
 */

/** Decodes one string. */
export interface Base64Stream {
  /** Takes the next bytes of the string, with its escapes, and gives what they decode to. */
  readonly push: (bytes: Uint8Array) => Uint8Array
  /** At the string's end: what is left, or undefined where the string is not base64. */
  readonly end: () => Uint8Array | undefined
}

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/

/** An escape such as `\u002f` is at most this long. */
const longestEscape = 6

const nothing = new Uint8Array(0)

/** Where a text can be cut without cutting an escape. */
const safeEnd = (text: string): number => {
  const at = text.lastIndexOf("\\")
  if (at === -1 || text.length - at >= longestEscape) return text.length
  // An escaped backslash is no base64 either way.
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
    // Padding ends the string, so nothing but padding may follow it.
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
