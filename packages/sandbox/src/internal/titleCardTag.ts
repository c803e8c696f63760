/**
 * The card in the file of its video, so that `sandbox/title-card-upscaler` can render it again: a
 * `uuid` box at the end of the MP4, with JSON. Programs that cut or encode videos drop boxes of
 * this kind, but copy comments. A comment would therefore say what the video no longer is.
 */
import * as Schema from "effect/Schema"
import { drawnPrompt, maxLongSide, maxShortSide, maxPromptLength, maxDuration, minSide } from "./titleCardBounds.ts"

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

/** Identifies the box. */
const uuid = Buffer.from("b5d3c6f27a0e4f0c9a41d7e85c2f6b13", "hex")

const headLength = 8 + uuid.length

/**
 * The maximum number of bytes of JSON that are read. A prompt takes at most three for each of its
 * units.
 */
const maxBytes = 8192

/** A file has three boxes and the card. Others may have been added. */
const maxBoxes = 16

/** The MP4 with its card at the end. */
export const write = (mp4: Uint8Array, { creativity, duration, height, prompt, seed, width }: Card): Uint8Array => {
  const card: Card = {
    width,
    height,
    prompt: drawnPrompt(prompt),
    duration,
    seed,
    ...(creativity === undefined ? {} : { creativity })
  }
  const json = Buffer.from(JSON.stringify({ version: 1, card }))
  const head = Buffer.alloc(8)
  head.writeUInt32BE(headLength + json.length)
  head.write("uuid", 4, "latin1")
  return new Uint8Array(Buffer.concat([mp4, head, uuid, json]))
}

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
