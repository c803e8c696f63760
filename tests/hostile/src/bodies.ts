/**
 * `pnpm hostile bodies`: searches for the 1 MiB body that blocks the event loop the longest, by
 * trying many families of bodies in every field of every operation that accepts JSON.
 */
import { arrayOf, json, mebibyte, milliseconds, pause } from "./attacks/attack.ts"
import { ask, entriesOf, fieldOf } from "./client.ts"
import { type Operation, operations } from "./fuzz/operations.ts"
import * as Random from "./fuzz/random.ts"
import { valueOf } from "./fuzz/values.ts"
import { type Gateway, start, unlimited } from "./gateway.ts"
import * as World from "./fuzz/world.ts"

/** Maximum time in milliseconds that a body of this size may block the event loop. */
export const bound = 30

const size = mebibyte - 2048

const objectOf = (entry: (at: number) => string): string => {
  const entries: Array<string> = []
  for (let bytes = 2, at = 0; bytes < size; at++) {
    const next = entry(at)
    bytes += next.length + 1
    entries.push(next)
  }
  entries.pop()
  return `{${entries.join(",")}}`
}

const repeated = (unit: string): string => JSON.stringify(unit.repeat(Math.floor(size / Buffer.byteLength(unit))))

const nested = (open: string, close: string, inside = ""): string => {
  const levels = Math.floor((size - inside.length) / (open.length + close.length))
  return open.repeat(levels) + inside + close.repeat(levels)
}

/** JSON texts of about 1 MiB. */
const families: Readonly<Record<string, string>> = {
  "array of {}": arrayOf("{}", size),
  "array of []": arrayOf("[]", size),
  'array of ""': arrayOf('""', size),
  'array of "a"': arrayOf('"a"', size),
  "array of 1": arrayOf("1", size),
  "array of null": arrayOf("null", size),
  "array of 1e400": arrayOf("1e400", size),
  "array of lone surrogates": arrayOf('"\\ud800"', size),
  'array of {"a":1}': arrayOf('{"a":1}', size),
  'array of {"text":1}': arrayOf('{"text":1}', size),
  'array of {"text":""}': arrayOf('{"text":""}', size),
  'array of {"type":"image_url"}': arrayOf('{"type":"image_url"}', size),
  "array of hashes": arrayOf(`"${"0".repeat(64)}"`, size),
  "nested arrays": nested("[", "]"),
  "nested objects": nested('{"a":', "}", "1"),
  "arrays 100 deep": arrayOf("[".repeat(100) + "]".repeat(100), size),
  "objects 90 deep": arrayOf('{"a":'.repeat(90) + "1" + "}".repeat(90), size),
  "many keys": objectOf((at) => `"k${at}":0`),
  "many keys of {}": objectOf((at) => `"k${at}":{}`),
  "numbers as keys": objectOf((at) => `"${at}":0`),
  "sparse numbers as keys": objectOf((at) => `"${4_000_000_000 - at * 997}":0`),
  "one key again and again": objectOf(() => '"a":1'),
  "many keys of objects of strings": objectOf((at) => `"k${at}":{"a":"b"}`),
  "long ASCII": repeated("a"),
  "combining marks": repeated("\u0316\u0301"),
  emoji: repeated("👍🏽"),
  "escaped NULs": `"${"\\u0000".repeat(Math.floor(size / 6))}"`,
  "escaped surrogates": `"${"\\ud83d".repeat(Math.floor(size / 6))}"`,
  digits: "9".repeat(size),
  fraction: `0.${"1".repeat(size)}`,
  base64: `"${"A".repeat(size - (size % 4))}"`
}

/** Embeds a family in every place where the contract allows free-form JSON. */
const places = (operation: Operation): Readonly<Record<string, (family: string) => string>> => {
  const schema = operation.bodies.find(({ contentType }) => contentType === "application/json")?.schema
  const valid = valueOf(Random.make(1, 1), operation.name, schema, noneKnown)
  const fields = entriesOf(fieldOf(schema, "properties")).map(([name]) => name)
  const withField = (name: string, text: string): string => {
    const others = entriesOf(valid).filter(([other]) => other !== name)
    const texts = others.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`)
    return `{${[...texts, `${JSON.stringify(name)}:${text}`].join(",")}}`
  }
  return {
    body: (family) => family,
    unknown: (family) => withField("unknown", family),
    ...Object.fromEntries(fields.map((name) => [name, (family: string) => withField(name, family)])),
    ...(fields.includes("provider")
      ? {
          "provider.options": (family: string) => withField("provider", `{"options":${family}}`),
          "provider.options.sandbox": (family: string) => withField("provider", `{"options":{"sandbox":${family}}}`),
          "provider.options.sandbox.a": (family: string) =>
            withField("provider", `{"options":{"sandbox":{"a":${family}}}}`),
          "provider.order": (family: string) => withField("provider", `{"order":${family}}`)
        }
      : undefined),
    ...(fields.includes("trace")
      ? { "trace.a": (family: string) => withField("trace", `{"a":${family}}`) }
      : undefined),
    ...(fields.includes("input_audio")
      ? { "input_audio.data": (family: string) => withField("input_audio", `{"format":"wav","data":${family}}`) }
      : undefined)
  }
}

const noneKnown = {
  workspace: "",
  keyHashes: [],
  guardrails: [],
  files: [],
  videos: [],
  generations: [],
  providerKeys: [],
  destinations: [],
  emptyWorkspaces: [],
  deliveries: [],
  alerts: [],
  sessions: []
}

export interface Cost {
  readonly operation: string
  readonly place: string
  readonly family: string
  readonly status: number
  /** Milliseconds. */
  readonly stall: number
}

/**
 * How long a body blocks the event loop: the shortest of several runs, because the machine does
 * other work too.
 */
const costOf = async (gateway: Gateway, method: string, path: string, key: string, body: Buffer) => {
  let least = Infinity
  let status = 0
  for (let attempt = 0; attempt < 12 && least > (attempt < 4 ? bound / 2 : bound); attempt++) {
    await gateway.stall()
    const answer = await ask(gateway.origin, { method, path, key, headers: json, body })
    await pause(5)
    status = answer.status
    const stall = await gateway.stall()
    if (gateway.ended() !== undefined) return { status, stall: Infinity }
    least = Math.min(least, stall)
    // Noise of the machine never makes this much difference.
    if (least > 10 * bound) break
  }
  return { status, stall: least }
}

const costliestFirst = (one: Cost, other: Cost): number =>
  one.stall < other.stall ? 1 : one.stall > other.stall ? -1 : 0

/** The costs of all bodies by operation, most expensive first. */
export const measure = async (names: ReadonlyArray<string>, main?: string): Promise<ReadonlyArray<Cost>> => {
  const gateway = await start({ main, settings: unlimited })
  try {
    const known = (await World.make(gateway)).known()
    const costs: Array<Cost> = []
    for (const operation of operations) {
      const takesJson = operation.bodies.some(({ contentType }) => contentType === "application/json")
      if (!takesJson || (names.length > 0 && !names.includes(operation.name))) continue
      const path = operation.path
        .replace("{hash}", known.keyHashes[0] ?? "")
        .replace("{id}", operation.path.includes("guardrails") ? (known.guardrails[0] ?? "") : known.workspace)
      const key = operation.access === "management key" ? gateway.managementKey : gateway.apiKey
      for (const [place, around] of Object.entries(places(operation))) {
        for (const [family, text] of Object.entries(families)) {
          const body = Buffer.from(around(text))
          const { stall, status } = await costOf(gateway, operation.method, path, key, body)
          costs.push({ operation: operation.name, place, family, status, stall })
          if (gateway.ended() !== undefined) return costs.toSorted(costliestFirst)
        }
      }
    }
    return costs.toSorted(costliestFirst)
  } finally {
    await gateway.stop()
  }
}

/** The table in Markdown: the three most expensive bodies of each operation. */
export const report = (costs: ReadonlyArray<Cost>): string => {
  const names = [...new Set(costs.map(({ operation }) => operation))]
  const rows = names.flatMap((name) => {
    const own = costs.filter(({ operation }) => operation === name)
    return own
      .slice(0, 3)
      .map(
        ({ family, place, stall, status }) =>
          `| ${name} | ${place} | ${family} | ${status} | ${stall === Infinity ? "the process ended" : milliseconds(stall)} | ${stall <= bound ? "pass" : "FAIL"} |`
      )
  })
  return [
    `### The costliest bodies of 1 MiB, of ${costs.length} that were tried: at most ${bound} ms of event loop`,
    "",
    "| operation | where | what | status | stall | verdict |",
    "| --- | --- | --- | ---: | ---: | --- |",
    ...rows,
    ""
  ].join("\n")
}
