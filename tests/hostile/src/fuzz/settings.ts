/**
 * `pnpm hostile fuzz-settings`: starts the executable with random settings, from a seed: flags,
 * variables and settings files, of which most are wrong in some way. It either serves, or ends with
 * an error that names a setting, and never shows a secret. The status is 2 if the flags themselves
 * are wrong, as with one that does not exist or is given twice, else 1.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { fileURLToPath } from "node:url"
import { milliseconds } from "../attacks/attack.ts"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { mutatedBytes, mutatedJson, oddText } from "./mutations.ts"
import * as Random from "./random.ts"

export interface Options {
  readonly runs: number
  readonly seed: number
  /** Only the run with this number, to reproduce its problem. */
  readonly only?: number | undefined
  /** Processes at the same time. */
  readonly concurrency: number
  /** Maximum time to start or to refuse, and to stop, in milliseconds. */
  readonly patience: number
  /** The gateway's `main.js`. */
  readonly main?: string | undefined
}

/** A setting, as the table of `docs/reference/settings.md` lists it. */
interface Setting {
  /** Without a flag: a secret. */
  readonly flag: string | undefined
  readonly key: string
  readonly variable: string
  readonly initial: string
  readonly allowed: string
}

const guide = fileURLToPath(new URL("../../../../docs/reference/settings.md", import.meta.url))

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .replace(/^\| | \|$/g, "")
    .split(" | ")
    .map((cell) => cell.replaceAll("`", ""))

/**
 * Every setting. The table is generated from their declarations, so that a new setting is fuzzed
 * without a change here.
 */
const settings: ReadonlyArray<Setting> = readFileSync(guide, "utf8")
  .split("\n")
  .flatMap((line) => {
    const [flag = "", key = "", variable = "", initial = "", allowed = "", meaning] = cellsOf(line)
    if (meaning === undefined || !/^[A-Z_]+$/.test(variable)) return []
    return [{ flag: flag.startsWith("--") ? flag : undefined, key, variable, initial, allowed }]
  })

/** What one run is given. */
export interface Sample {
  readonly number: number
  readonly flags: ReadonlyArray<string>
  readonly variables: Readonly<Record<string, string>>
  /** The content of the settings file. */
  readonly file: Buffer | undefined
  /** Names of which an error must contain one. */
  readonly names: ReadonlyArray<string>
  readonly secrets: ReadonlyArray<string>
  /** The exit status if it is refused. */
  readonly refusal: 1 | 2
}

/** Settings that could lead out of this machine, or write outside of the run's folder. */
const careful: Readonly<Record<string, ReadonlyArray<string>>> = {
  host: ["localhost", "127.0.0.1", "", " ", "::1", "300.300.300.300", "127.0.0.1:80", "no host", "\ud800"],
  dataDir: ["", " ", "data", "file", "file/inside", "/dev/null", "/proc/nothing", "a".repeat(5000), "\ud800"],
  webDir: ["", "none", "playground", "sample", "file", "nowhere", "/dev/null"],
  databaseUrl: [
    "",
    "tea",
    "mysql://127.0.0.1/x",
    "postgres://",
    "postgres://user:secret-of-the-database@127.0.0.1:1/x",
    "postgres://127.0.0.1:99999/x",
    "postgres://user:%ff@127.0.0.1:1/x"
  ],
  redisUrl: [
    "",
    "tea",
    "redis://",
    "redis://:secret-of-redis@127.0.0.1:1/0",
    "redis://127.0.0.1:1/tea",
    "rediss://[::1"
  ],
  objectStoreUrl: [
    "",
    "tea",
    "s3://",
    "s3://b?endpoint=http://127.0.0.1:1",
    "s3://B_/?region=",
    "s3://b?tea=1",
    "file:///x"
  ]
}

const texts = [
  "0",
  "1",
  "-1",
  "1.5",
  "65536",
  "1e400",
  "NaN",
  "Infinity",
  "9007199254740993",
  "true",
  "null",
  "[]",
  "{}",
  "10 seconds",
  "0 seconds",
  "-1 second",
  "1 fortnight",
  "infinity",
  "1 MiB",
  "0 bytes",
  "1 PiB",
  "99999999999999 GiB",
  "never",
  "http://127.0.0.1:1",
  "https://user:secret-of-a-url@127.0.0.1",
  "127.0.0.0/33",
  "a,b,,c",
  "https://a.example,tea",
  "-secret-of-a-text"
] as const

const secretPattern = /secret-of-[\w-]+/g

const textFor = (random: Random.Random, { allowed, initial, key }: Setting): string => {
  const ownValues = careful[key]
  if (ownValues !== undefined) return random.pickOr(ownValues, "")
  // The first of a list of allowed values, or the example.
  const example = /such as (.+?)(?: and |,|$)/.exec(allowed)?.[1] ?? /one of (\w+)/.exec(allowed)?.[1] ?? initial
  const how = random.fraction()
  if (how < 0.25) return initial === "none" ? example : initial
  if (how < 0.4) return example
  if (how < 0.7) return random.pick(texts)
  return oddText(random)
}

/** A process cannot be given these: the system refuses them before it starts. */
const passable = (text: string): string => text.replaceAll("\u0000", "").toWellFormed()

const inFile = (entries: ReadonlyArray<readonly [key: string, value: unknown]>): Record<string, unknown> => {
  const made: Record<string, unknown> = {}
  for (const [key, value] of entries) {
    const [first = "", ...rest] = key.split(".")
    if (rest.length === 0) made[first] = value
    else {
      const inner = entries
        .filter(([other]) => other.startsWith(`${first}.`))
        .map(([other, one]) => [other.slice(first.length + 1), one] as const)
      made[first] = inFile(inner)
    }
  }
  return made
}

/** A valid file with every kind of value. */
const validFile = {
  port: 0,
  rateLimit: { requests: 100, window: "10 seconds" },
  videos: { concurrency: 2, retention: "30 days" },
  bodyLimits: { files: "512 MiB" },
  corsOrigins: ["https://app.example"],
  upstreams: {
    cohere: { apiKey: { env: "TEAM_KEY" }, timeLimit: "20 seconds" },
    own: { adapter: "openai", baseUrl: "http://127.0.0.1:1/v1", apiKey: "secret-of-an-upstream" }
  },
  models: {
    "own/rank": { offers: [{ upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } }] },
    "own/hear": {
      kind: "transcription",
      name: "Hear",
      offers: [{ upstream: "own", model: "whisper-1", price: { second: 0.0001 } }]
    }
  }
}

/** Makes run number `number`. The port is given last, so that no run listens on a chosen one. */
export const make = (seed: number, number: number): Sample => {
  const random = Random.make(seed, number)
  const flags: Array<string> = []
  const variables: Record<string, string> = { TEAM_KEY: "secret-of-the-team" }
  const entries: Array<readonly [string, unknown]> = []
  const names: Array<string> = []
  let isMisused = false
  for (let count = random.below(4); count > 0; count--) {
    const setting = random.pickOr<Setting | undefined>(settings, undefined)
    if (setting === undefined || setting.key === "port") continue
    const text = passable(textFor(random, setting))
    names.push(setting.key, setting.variable, ...(setting.flag === undefined ? [] : [setting.flag]))
    const how = random.fraction()
    if (how < 0.33 && setting.flag !== undefined) flags.push(`${setting.flag}=${text}`)
    else if (how < 0.66) variables[setting.variable] = text
    else
      entries.push([
        setting.key,
        random.chance(0.6) ? text : random.pick([null, 0, -1, true, [], {}, [text], { a: text }])
      ])
  }
  const how = random.fraction()
  let file: Buffer | undefined
  if (entries.length > 0 || how < 0.5) {
    const value = how < 0.3 ? { ...validFile, ...inFile(entries) } : inFile(entries)
    const text = how < 0.4 ? mutatedJson(random, value) : JSON.stringify(value)
    file = how > 0.45 && how < 0.5 ? mutatedBytes(random, Buffer.from(text)) : Buffer.from(text)
    if (random.chance(0.02))
      file = random.pick([
        Buffer.alloc(0),
        Buffer.from("\ufeff{}"),
        Buffer.alloc(2_000_000, "["),
        Buffer.from([0xff, 0xfe])
      ])
    names.push("settings.json")
  }
  // The address is right, and nothing is there.
  if (names.includes("databaseUrl")) names.push("the database URL")
  if (random.chance(0.1)) {
    const name = random.pick(["MODEL_GATEWAY_TEA", "MODEL_GATEWAY_PROT", "MODEL_GATEWAY_", "MODEL_GATEWAY_CONFIG"])
    variables[name] = random.pick(["1", "nowhere.json", "."])
    names.push(name, variables[name] ?? "")
  }
  if (random.chance(0.1)) {
    const flag = random.pick([
      "--tea",
      "--prot=1",
      "--host",
      "-x",
      "tea",
      "--log-level",
      "--config=nowhere.json",
      "--config=."
    ])
    flags.push(flag)
    if (!flag.startsWith("--config=")) isMisused = true
    names.push(flag.split("=", 1)[0] ?? flag, "host", "log-level", "config", "nowhere.json", "The settings file")
  }
  const given = JSON.stringify([flags, variables, file?.toString("latin1") ?? ""])
  const secrets = [...new Set(given.match(secretPattern) ?? [])]
  const flagNames = [...(file === undefined ? [] : ["--config"]), ...flags.map((flag) => flag.split("=", 1)[0])]
  if (new Set(flagNames).size < flagNames.length) isMisused = true
  return { number, flags, variables, file, names, secrets, refusal: isMisused ? 2 : 1 }
}

/** How a run went. */
export interface Outcome {
  readonly sample: Sample
  readonly result: "served" | "refused" | "wrong"
  readonly milliseconds: number
  readonly output: string
  readonly problem: string | undefined
}

const stack = /\n\s+at .+:\d+:\d+\)?|node:internal|UnhandledPromiseRejection|Uncaught|\[object Object\]/

const problemOf = ({ names, refusal, secrets }: Sample, code: number | null, output: string): string | undefined => {
  if (code !== refusal) return `ended with ${code ?? "a signal"}`
  if (output.trim() === "") return "no error"
  if (stack.test(output)) return "a stack trace"
  if (output.length > 8000) return `an error of ${output.length} characters`
  if (!names.some((name) => name !== "" && output.includes(name))) return "an error that names no setting"
  return secrets.some((secret) => output.includes(secret)) ? "an error that shows a secret" : undefined
}

const runOne = async (sample: Sample, { main, patience }: Options): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-settings-"))
  try {
    mkdirSync(join(folder, "nothing"))
    writeFileSync(join(folder, "file"), "tea")
    const config = sample.file === undefined ? [] : ["--config=settings.json"]
    if (sample.file !== undefined) writeFileSync(join(folder, "settings.json"), sample.file)
    const startedAt = performance.now()
    const args = [main ?? executable, "serve", ...config, ...sample.flags, "--port=0"]
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...sample.variables, ...childEnvironment() },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const killWithParent = () => void child.kill("SIGKILL")
    process.once("exit", killWithParent)
    let output = ""
    const exited = once(child, "close").then(() => child.exitCode)
    const served = new Promise<"served">((resolve) => {
      const read = (chunk: string): void => {
        output += chunk
        if (output.includes("Model gateway at ")) resolve("served")
      }
      child.stdout.setEncoding("utf8").on("data", read)
      child.stderr.setEncoding("utf8").on("data", read)
    })
    const late = (): Promise<"late"> =>
      new Promise((resolve) => void setTimeout(() => resolve("late"), patience).unref())
    const first = await Promise.race([served, exited, late()])
    const time = performance.now() - startedAt
    const outcome = (result: Outcome["result"], problem?: string): Outcome => ({
      sample,
      result,
      milliseconds: time,
      output,
      problem
    })
    if (first === "served") {
      child.kill("SIGTERM")
      const end = await Promise.race([exited, late()])
      child.kill("SIGKILL")
      await exited
      process.off("exit", killWithParent)
      if (end !== 0) return outcome("wrong", end === "late" ? "it did not stop" : `stopped with ${end ?? "a signal"}`)
      if (stack.test(output)) return outcome("wrong", "a stack trace")
      const shown = sample.secrets.some((secret) => output.includes(secret))
      return shown ? outcome("wrong", "the output shows a secret") : outcome("served")
    }
    child.kill("SIGKILL")
    const code = first === "late" ? null : first
    await exited
    process.off("exit", killWithParent)
    if (first === "late") return outcome("wrong", `neither served nor ended within ${milliseconds(patience)}`)
    const problem = problemOf(sample, code, output)
    return outcome(problem === undefined ? "refused" : "wrong", problem)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Result {
  readonly options: Options
  readonly outcomes: ReadonlyArray<Outcome>
}

export const run = async (options: Options): Promise<Result> => {
  const first = options.only ?? 0
  const end = options.only === undefined ? options.runs : options.only + 1
  const outcomes: Array<Outcome> = []
  let next = first
  const lane = async (): Promise<void> => {
    while (next < end) outcomes.push(await runOne(make(options.seed, next++), options))
  }
  await Promise.all(Array.from({ length: options.concurrency }, lane))
  return { options, outcomes }
}

/** The settings of a run, its output and the command that reproduces it. */
export const describe = ({ options }: Result, { output, problem, sample }: Outcome): string =>
  [
    `${problem}`,
    `  pnpm hostile fuzz-settings --seed ${options.seed} --only ${sample.number}`,
    `  flags ${JSON.stringify(sample.flags).slice(0, 500)} variables ${JSON.stringify(sample.variables).slice(0, 500)}`,
    `  file ${JSON.stringify(sample.file?.toString("latin1").slice(0, 800))}`,
    `  output ${JSON.stringify(output.slice(0, 1500))}`
  ].join("\n")

export const problemsOf = (result: Result): ReadonlyArray<string> =>
  result.outcomes.filter(({ problem }) => problem !== undefined).map((outcome) => describe(result, outcome))

export const report = (result: Result): string => {
  const { options, outcomes } = result
  const count = (name: Outcome["result"]): number => outcomes.filter(({ result }) => result === name).length
  const longest = Math.max(0, ...outcomes.map((outcome) => outcome.milliseconds))
  const problems = problemsOf(result)
  return [
    `### Settings: ${outcomes.length} runs over ${settings.length} settings, seed ${options.seed}`,
    "",
    `${count("served")} served, ${count("refused")} were refused with an error that names a setting, ${count("wrong")} wrong. ` +
      `Longest: ${milliseconds(longest)}.`,
    ...problems.map((problem) => `FAIL: ${problem}`),
    problems.length === 0 ? "pass" : ""
  ].join("\n")
}
