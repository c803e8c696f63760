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

type Tone = "dark" | "middle" | "light"

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
  const counts = new Map<string, number>()
  const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
  const total = pixels.length / 4
  let brightness = 0
  let chroma = 0
  for (let at = 0; at < pixels.length; at += 4) {
    const seen = look((pixels[at] ?? 0) / 255, (pixels[at + 1] ?? 0) / 255, (pixels[at + 2] ?? 0) / 255)
    brightness += seen.brightness
    chroma += seen.chroma
    add(seen.color)
    add(`${seen.tone} ${seen.color}`)
  }
  return {
    width,
    height,
    share: (color, tone) => (counts.get(tone === undefined ? color : `${tone} ${color}`) ?? 0) / total,
    brightness: brightness / total,
    chroma: chroma / total
  }
}

const look = (red: number, green: number, blue: number) => {
  const most = Math.max(red, green, blue)
  const least = Math.min(red, green, blue)
  const chroma = most - least
  const lightness = (most + least) / 2
  const tone: Tone = lightness < 0.4 ? "dark" : lightness > 0.6 ? "light" : "middle"
  const brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  return { color: colorOf(red, green, blue, most, chroma, lightness), tone, brightness, chroma }
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
