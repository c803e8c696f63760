/**
 * Paints the pictures of a title card directly into planar YUV 4:2:0, the encoder's input: a
 * backdrop that is computed once, three moving discs of light, lettering that fades in and drifts,
 * and a progress bar.
 */
import type { Lettering } from "./titleCardLettering.ts"

export interface Picture {
  /** The picture at a position of the video, from 0 to 1. Every call returns the same buffer. */
  readonly paint: (share: number, seconds: number) => Uint8Array
}

/** mulberry32: small, with the same numbers for the same seed on every machine. */
const random = (seed: number): (() => number) => {
  let state = Math.trunc(seed) ^ Math.floor(seed / 4_294_967_296)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Color {
  readonly y: number
  readonly u: number
  readonly v: number
}

/** A dark, saturated color for a hue from 0 to 1. */
const color = (hue: number, luma: number, saturation: number): Color => ({
  y: luma,
  u: 128 + saturation * Math.cos(2 * Math.PI * hue),
  v: 128 + saturation * Math.sin(2 * Math.PI * hue)
})

const white = 235

/** `turn` is how far the hues turn, from 0 to 1, a full circle. */
export const makePicture = (
  width: number,
  height: number,
  seed: number,
  turn: number,
  lettering: Lettering
): Picture => {
  const next = random(seed)
  const from = color(next() + turn, 40, 34)
  const to = color(next() + turn, 84, 40)
  const phase = next() * 2 * Math.PI
  const side = Math.min(width, height)
  const discs = Array.from({ length: 3 }, () => ({
    disc: makeDisc(Math.round(side * (0.1 + 0.12 * next())), 12 + 16 * next()),
    x: next(),
    y: next(),
    speed: 0.05 + 0.1 * next(),
    angle: next() * 2 * Math.PI
  }))

  const luma = width * height
  const chroma = luma / 4
  const backdrop = makeBackdrop(width, height, from, to)
  const picture = new Uint8Array(luma + 2 * chroma)
  const drift = side * 0.04
  const left = (width - lettering.width) / 2
  const top = (height - lettering.height) / 2
  const barHeight = even(Math.max(2, side / 90))
  const barTop = even(height - side / 12)

  return {
    paint(share, seconds) {
      picture.set(backdrop)
      for (const { angle, disc, speed, x, y } of discs) {
        const position = angle + 2 * Math.PI * speed * seconds
        light(
          picture,
          width,
          height,
          disc,
          x * width + Math.cos(position) * side * 0.3,
          y * height + Math.sin(position) * side * 0.2
        )
      }
      // Never start from nothing: file managers show the first picture.
      const fade = Math.min(1, 0.35 + seconds)
      const x = even(left + drift * Math.sin(phase + seconds * 0.9))
      const y = even(top + drift * 0.5 * Math.cos(phase + seconds * 0.7))
      ink(picture, width, height, lettering, x, y, fade)
      bar(picture, width, height, barTop, barHeight, even(width * share))
      return picture
    }
  }
}

const even = (value: number): number => 2 * Math.round(value / 2)

const makeBackdrop = (width: number, height: number, from: Color, to: Color): Uint8Array => {
  const luma = width * height
  const chroma = luma / 4
  const backdrop = new Uint8Array(luma + 2 * chroma)
  const mix = (x: number, y: number, a: number, b: number) => a + (b - a) * ((0.35 * x) / width + (0.65 * y) / height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) backdrop[y * width + x] = mix(x, y, from.y, to.y)
  }
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      const at = luma + (y / 2) * (width / 2) + x / 2
      backdrop[at] = mix(x, y, from.u, to.u)
      backdrop[at + chroma] = mix(x, y, from.v, to.v)
    }
  }
  return backdrop
}

interface Disc {
  readonly radius: number
  /** How much lighter each pixel of the disc's square becomes. */
  readonly glow: Uint8Array
}

const makeDisc = (radius: number, strength: number): Disc => {
  const size = 2 * radius + 1
  const glow = new Uint8Array(size * size)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const distance = Math.hypot(x - radius, y - radius) / radius
      glow[y * size + x] = distance < 1 ? strength * Math.min(1, (1 - distance) * 8) : 0
    }
  }
  return { radius, glow }
}

const light = (picture: Uint8Array, width: number, height: number, disc: Disc, x: number, y: number): void => {
  const size = 2 * disc.radius + 1
  const left = Math.round(x) - disc.radius
  const top = Math.round(y) - disc.radius
  const firstColumn = Math.max(0, -left)
  const lastColumn = Math.min(size, width - left)
  const lastRow = Math.min(size, height - top)
  for (let row = Math.max(0, -top); row < lastRow; row++) {
    const line = (top + row) * width + left
    for (let column = firstColumn; column < lastColumn; column++) {
      const at = line + column
      picture[at] = (picture[at] ?? 0) + (disc.glow[row * size + column] ?? 0)
    }
  }
}

const ink = (
  picture: Uint8Array,
  width: number,
  height: number,
  lettering: Lettering,
  left: number,
  top: number,
  fade: number
): void => {
  const luma = width * height
  const chroma = luma / 4
  const strength = fade / 255
  for (let row = 0; row < lettering.height; row++) {
    const y = top + row
    if (y < 0 || y >= height) continue
    for (let column = 0; column < lettering.width; column++) {
      const covered = lettering.ink[row * lettering.width + column] ?? 0
      const x = left + column
      if (covered === 0 || x < 0 || x >= width) continue
      const amount = covered * strength
      const at = y * width + x
      picture[at] = (picture[at] ?? 0) + (white - (picture[at] ?? 0)) * amount
      if (((x | y) & 1) === 0) {
        const colorAt = luma + (y / 2) * (width / 2) + x / 2
        picture[colorAt] = (picture[colorAt] ?? 0) + (128 - (picture[colorAt] ?? 0)) * amount
        const other = colorAt + chroma
        picture[other] = (picture[other] ?? 0) + (128 - (picture[other] ?? 0)) * amount
      }
    }
  }
}

const bar = (
  picture: Uint8Array,
  width: number,
  height: number,
  top: number,
  thickness: number,
  length: number
): void => {
  for (let y = top; y < Math.min(height, top + thickness); y++) picture.fill(white, y * width, y * width + length)
}
