/** Corrupts requests, in their JSON and in their bytes. */
import type { Random } from "./random.ts"

const nested = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels)

const strings = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\udfff\ud800",
  "\u202e\u200f\ufeff",
  "\u0301".repeat(500),
  "ﷺ".repeat(300),
  "ᄀ".repeat(500),
  "🏳️‍🌈".repeat(50),
  "a".repeat(5000),
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "%00%ff",
  "' OR 1=1 --",
  "NaN",
  "1e400",
  "data:image/png;base64,",
  "https://",
  "2026-99-99T99:99:99Z",
  "0x10",
  "null"
] as const

/** JSON texts that `JSON.stringify` would not write. */
const texts = [
  "1e400",
  "-1e400",
  "1e-400",
  "-0",
  "9007199254740993",
  "123456789012345678901234567890",
  `0.${"1".repeat(400)}`,
  "1".repeat(400),
  nested("[", "]", 50),
  nested("[", "]", 2000),
  `${'{"a":'.repeat(200)}1${"}".repeat(200)}`,
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"a":1,"a":2,"a":3}',
  '"\\ud800"',
  '"\\u0000"'
] as const

const wrongValue = (random: Random): unknown =>
  random.pick<unknown>([
    null,
    true,
    0,
    -1,
    1.5,
    2 ** 53,
    1e308,
    -1e308,
    "",
    [],
    {},
    [[]],
    [null],
    { a: 1 },
    random.pick(strings),
    Array.from({ length: random.below(300) }, () => random.pick<unknown>([{}, [], "", 1, null])),
    Object.fromEntries(Array.from({ length: random.below(200) }, (_, at) => [`key ${at}`, at]))
  ])

/** Marks the place of a text that `JSON.stringify` would not write. */
const marker = "\u0001text\u0001"

/** Changes one place in a value. */
const mutated = (random: Random, value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items: ReadonlyArray<unknown> = value
    if (items.length > 0 && random.chance(0.6)) {
      const at = random.below(items.length)
      return items.map((item, i) => (i === at ? mutated(random, item) : item))
    }
    return random.pick<unknown>([
      [],
      [...items, ...items, ...items],
      Array.from({ length: 65 + random.below(200) }, () => items[0] ?? null),
      [...items, wrongValue(random)],
      wrongValue(random)
    ])
  }
  if (typeof value === "object" && value !== null) {
    const entries: ReadonlyArray<readonly [string, unknown]> = Object.entries(value)
    const at = random.below(Math.max(1, entries.length))
    const how = random.fraction()
    if (how < 0.6 && entries.length > 0) {
      return Object.fromEntries(entries.map(([name, inner], i) => [name, i === at ? mutated(random, inner) : inner]))
    }
    if (how < 0.75) return Object.fromEntries(entries.filter((_, i) => i !== at))
    if (how < 0.9) return Object.fromEntries([...entries, [random.pick(strings), wrongValue(random)]])
    return wrongValue(random)
  }
  if (typeof value === "string" && random.chance(0.4)) return random.pick(strings)
  if (typeof value === "number" && random.chance(0.4)) return random.pick([-1, 0, 1e9, 1.5, 2 ** 60, -(2 ** 60)])
  return random.chance(0.25) ? marker : wrongValue(random)
}

/** The value as JSON, changed in some places. */
export const mutatedJson = (random: Random, value: unknown): string => {
  let changed = value
  for (let count = 1 + random.below(3); count > 0; count--) changed = mutated(random, changed)
  return (JSON.stringify(changed) ?? "").replaceAll(JSON.stringify(marker), () => random.pick(texts))
}

/** The bytes, changed in some places: flipped, removed, duplicated, inserted. */
export const mutatedBytes = (random: Random, bytes: Buffer): Buffer => {
  let changed = Buffer.from(bytes)
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = random.below(changed.length + 1)
    const before = changed.subarray(0, at)
    const after = changed.subarray(at)
    switch (random.below(5)) {
      case 0:
        changed = Buffer.concat([before, Buffer.from([random.below(256)]), after.subarray(1)])
        break
      case 1:
        changed = Buffer.from(before)
        break
      case 2:
        changed = Buffer.concat([before, before.subarray(-random.below(50)), after])
        break
      case 3:
        changed = Buffer.concat([before, Buffer.from(random.pick(strings)), after])
        break
      default:
        changed = Buffer.concat([before, after.subarray(random.below(20))])
    }
  }
  return changed
}

/** Text in the place of a number, a name or a cursor. */
export const oddText = (random: Random): string => random.pick([...strings, "-1", "1001", "1e3", "0", "abc", "%", "+"])
