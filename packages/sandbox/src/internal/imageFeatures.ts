/** What `sandbox/colors` sees in an image, and the words for it. */

const colors = [
  "black",
  "white",
  "gray",
  "red",
  "orange",
  "brown",
  "yellow",
  "green",
  "cyan",
  "blue",
  "purple",
  "pink"
] as const

type Color = (typeof colors)[number]

const tones = ["dark", "middle", "light"] as const

type Tone = (typeof tones)[number]

export interface ImageFeatures {
  readonly width: number
  readonly height: number
  /** The fraction of the picture with a color, from 0 to 1. Undefined for `tone`: any. */
  readonly share: (color: Color, tone?: Tone) => number
  /** The mean brightness, from 0 to 1. */
  readonly brightness: number
  /** The mean colorfulness, from 0 to 1. */
  readonly chroma: number
}

/** A word or two of a query, and how well an image fits it, from 0 to 1. */
export type Term = (image: ImageFeatures) => number

/** Looks at pixels, each of which is red, green, blue and alpha from 0 to 255. */
export const featuresOf = (width: number, height: number, pixels: Uint8ClampedArray): ImageFeatures => {
  const counts = new Uint32Array(colors.length * tones.length)
  const slot = (color: Color, tone: Tone) => colors.indexOf(color) * tones.length + tones.indexOf(tone)
  const total = pixels.length / 4
  let brightness = 0
  let chroma = 0
  for (let at = 0; at < pixels.length; at += 4) {
    const red = (pixels[at] ?? 0) / 255
    const green = (pixels[at + 1] ?? 0) / 255
    const blue = (pixels[at + 2] ?? 0) / 255
    const most = Math.max(red, green, blue)
    const spread = most - Math.min(red, green, blue)
    const lightness = most - spread / 2
    const tone = lightness < 0.4 ? "dark" : lightness > 0.6 ? "light" : "middle"
    const seen = slot(colorOf(red, green, blue, most, spread, lightness), tone)
    counts[seen] = (counts[seen] ?? 0) + 1
    brightness += 0.2126 * red + 0.7152 * green + 0.0722 * blue
    chroma += spread
  }
  const share = (color: Color, tone: Tone) => (counts[slot(color, tone)] ?? 0) / total
  return {
    width,
    height,
    share: (color, tone) =>
      tone === undefined ? tones.reduce((sum, each) => sum + share(color, each), 0) : share(color, tone),
    brightness: brightness / total,
    chroma: chroma / total
  }
}

const colorOf = (red: number, green: number, blue: number, most: number, chroma: number, lightness: number): Color => {
  if (most < 0.15) return "black"
  if (chroma < 0.1) return lightness < 0.15 ? "black" : lightness > 0.9 ? "white" : "gray"
  const sixth =
    most === red
      ? ((green - blue) / chroma + 6) % 6
      : most === green
        ? (blue - red) / chroma + 2
        : (red - green) / chroma + 4
  const hue = sixth * 60
  if (hue < 12 || hue >= 345) return "red"
  if (hue < 45) return lightness < 0.4 ? "brown" : "orange"
  if (hue < 70) return "yellow"
  if (hue < 165) return "green"
  if (hue < 190) return "cyan"
  if (hue < 255) return "blue"
  return hue < 290 ? "purple" : "pink"
}

const colorWords: ReadonlyMap<string, Color> = new Map<string, Color>([
  ...colors.map((color) => [color, color] as const),
  ["grey", "gray"],
  ["turquoise", "cyan"],
  ["teal", "cyan"],
  ["violet", "purple"],
  ["magenta", "pink"]
])

const toneWords: ReadonlyMap<string, Tone> = new Map([
  ["dark", "dark"],
  ["light", "light"],
  ["bright", "light"],
  ["pale", "light"]
])

const otherWords: ReadonlyMap<string, Term> = new Map<string, Term>([
  ["dark", ({ brightness }) => 1 - brightness],
  ["light", ({ brightness }) => brightness],
  ["bright", ({ brightness }) => brightness],
  ["pale", ({ brightness }) => brightness],
  ["colorful", ({ chroma }) => chroma],
  ["colourful", ({ chroma }) => chroma],
  ["monochrome", ({ share }) => share("black") + share("white") + share("gray")],
  ["portrait", ({ height, width }) => (height > width ? 1 : 0)],
  ["landscape", ({ height, width }) => (width > height ? 1 : 0)],
  ["square", ({ height, width }) => (width === height ? 1 : 0)]
])

/** The terms of a query, each once. Other words say nothing about an image. */
export const termsOf = (query: string): ReadonlyArray<Term> => {
  const words = query.toLowerCase().match(/[a-z]+/g) ?? []
  const terms = new Map<string, Term>()
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ""
    const next = words[at + 1] ?? ""
    const tone = toneWords.get(word)
    const color = colorWords.get(tone === undefined ? word : next)
    const other = otherWords.get(word)
    if (color !== undefined) {
      if (tone !== undefined) at++
      terms.set(`${tone} ${color}`, ({ share }) => share(color, tone))
    } else if (other !== undefined) {
      terms.set(word, other)
    }
  }
  return [...terms.values()]
}
