/** Reads the card that `titleCardBox.ts` wrote in the file of its video. */
import * as Schema from "effect/Schema"
import { maxLongSide, maxShortSide, maxPromptLength, maxDuration, minSide } from "./titleCardBounds.ts"
import { headLength, uuid } from "./titleCardBox.ts"

const Side = Schema.Int.check(Schema.isBetween({ minimum: minSide, maximum: maxLongSide }), Schema.isMultipleOf(2))

/** A card that the renderer can make. The file comes from a caller, so every field has bounds. */
export const Card = Schema.Struct({
  width: Side,
  height: Side,
  prompt: Schema.String.check(Schema.isMaxLength(maxPromptLength)),
  duration: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxDuration })),
  seed: Schema.Finite,
  creativity: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
}).check(Schema.makeFilter(({ height, width }) => Math.min(width, height) <= maxShortSide))

export type Card = typeof Card.Type

const Tag = Schema.fromJsonString(Schema.Struct({ version: Schema.Literal(1), card: Card }))

const decode = Schema.decodeUnknownOption(Tag)

/**
 * The maximum number of bytes of JSON that are read. A prompt takes at most three for each of its
 * units.
 */
const maxBytes = 8192

/** A file has three boxes and the card. Others may have been added. */
const maxBoxes = 16

/** Part of the file in base64, of which only this part is decoded. */
const part = (base64: string, at: number, length: number): Buffer => {
  const first = Math.floor(at / 3)
  const decoded = Buffer.from(base64.slice(first * 4, Math.ceil((at + length) / 3) * 4), "base64")
  return decoded.subarray(at - first * 3, at - first * 3 + length)
}

/**
 * The card of an MP4 in base64. Undefined: the MP4 has no card. `damaged`: the renderer cannot make
 * the card that it has.
 */
export const read = (base64: string): Card | "damaged" | undefined => {
  let at = 0
  for (let boxes = 0; boxes < maxBoxes; boxes++) {
    const head = part(base64, at, headLength)
    if (head.length < 8) return undefined
    const size = head.readUInt32BE(0)
    // 0 and 1 mean "to the end" and "64 bits". No box of a card has such a size.
    if (size < 8) return undefined
    if (head.toString("latin1", 4, 8) === "uuid" && head.subarray(8).equals(uuid)) {
      const length = size - headLength
      const json = length > maxBytes ? Buffer.alloc(0) : part(base64, at + headLength, length)
      const tag = json.length === length ? decode(json.toString("utf8")) : undefined
      return tag?._tag === "Some" ? tag.value.card : "damaged"
    }
    at += size
  }
  return undefined
}
