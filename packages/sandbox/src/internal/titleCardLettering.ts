/** Renders a prompt in large type as a coverage mask of the pixels. */
import { createCanvas, GlobalFonts, type SKRSContext2D } from "@napi-rs/canvas"
import { createRequire } from "node:module"
import { drawnPrompt } from "./titleCardBounds.ts"
import { fonts } from "./titleCardFonts.ts"

export interface Lettering {
  readonly width: number
  readonly height: number
  /** Row by row, 0 to 255. */
  readonly ink: Uint8Array
}

const require = createRequire(import.meta.url)

const registerFonts = (): string =>
  fonts
    .map(({ alias, file }) => {
      if (!GlobalFonts.has(alias)) GlobalFonts.registerFromPath(require.resolve(file), alias)
      return `"${alias}"`
    })
    .concat("sans-serif")
    .join(", ")

const lineHeight = 1.25
const rightToLeft = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}]/u
const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" })

const wrap = (context: SKRSContext2D, prompt: string, width: number): Array<string> => {
  const fits = (text: string) => context.measureText(text).width <= width
  const lines: Array<string> = []
  let line = ""
  for (const word of prompt.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (fits(longer)) {
      line = longer
      continue
    }
    if (line !== "") lines.push(line)
    line = ""
    // A word wider than the card, or text in a script without spaces, breaks between any two
    // characters.
    for (const { segment } of graphemes.segment(word)) {
      if (line !== "" && !fits(line + segment)) {
        lines.push(line)
        line = ""
      }
      line += segment
    }
  }
  return line === "" ? lines : [...lines, line]
}

/** The prompt in the largest type that fits. */
export const letter = (prompt: string, width: number, height: number): Lettering => {
  const text = drawnPrompt(prompt)
  const canvas = createCanvas(width, height)
  const context = canvas.getContext("2d")
  const family = registerFonts()

  const smallest = Math.max(10, Math.round(Math.min(width, height) / 22))
  let size = Math.round(Math.min(width / 5, height / 2.5))
  let lines: Array<string> = []
  for (;;) {
    context.font = `700 ${size}px ${family}`
    lines = wrap(context, text, width)
    if (lines.length * size * lineHeight <= height || size <= smallest) break
    size = Math.max(smallest, Math.floor(size * 0.9))
  }
  const room = Math.max(1, Math.floor(height / (size * lineHeight)))
  if (lines.length > room) lines = lines.slice(0, room).map((line, at) => (at === room - 1 ? `${line}…` : line))

  context.fillStyle = "#fff"
  context.textAlign = "center"
  context.textBaseline = "middle"
  context.direction = rightToLeft.test(text) ? "rtl" : "ltr"
  const top = height / 2 - ((lines.length - 1) * size * lineHeight) / 2
  for (const [at, line] of lines.entries()) context.fillText(line, width / 2, top + at * size * lineHeight, width)

  const pixels = context.getImageData(0, 0, width, height).data
  const ink = new Uint8Array(width * height)
  for (let at = 0; at < ink.length; at++) ink[at] = pixels[at * 4 + 3] ?? 0
  return { width, height, ink }
}
