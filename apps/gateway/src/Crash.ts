/**
 * The last line of a process that ends without having stopped: when, why, what it was doing, and
 * the stack. It goes to stderr and, once there is a data folder, to a file in it.
 *
 * Everything here is synchronous, because the process ends at once.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import { Context } from "effect"
import { appendFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import type * as ProcessLog from "./ProcessLog.ts"
import { version } from "./Version.ts"

/** Where the last line goes besides stderr, and what is known of the run. */
export interface Run {
  /** The data folder. */
  readonly dataDir: string
  /** The folder that marks the run as running. It is removed, because the end is then on record. */
  readonly marker: string
  /** What the process is doing, in a few words. */
  readonly doing: () => string
}

/** Ends the process, and leaves the last line. */
export class Crash extends Context.Service<
  Crash,
  {
    /** From now on the last line also goes to the data folder. */
    readonly recordIn: (run: Run) => void
    /** Ends the process at once. `reason` completes the sentence "ended because of …". */
    readonly end: (reason: string, code: number, cause?: unknown) => never
  }
>()("@model-gateway/gateway/Crash") {}

/** The file in the data folder that the next start reports and renames. */
export const file = "crash.log"

/**
 * The maximum number of bytes of the file. Later lines of other processes on the same folder are
 * left out.
 */
const maxBytes = 65_536

/** The maximum number of characters of a message that are read, so that a long one costs little. */
const maxMessage = 8192

const maxFrames = 20
const maxCauses = 3

const framesOf = (stack: string): ReadonlyArray<string> =>
  stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxFrames)

const codeOf = (error: Error): string => {
  const code = ErrorCode.of(error)
  return code === undefined ? "" : ` [${code}]`
}

/**
 * The error as it may be written down: its message without what looks like a secret, an address or
 * an id. The message of a syntax error quotes its input, and another thrown value may be one.
 */
const describe = (error: unknown): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let next = error, count = 0; next !== undefined && count < maxCauses; count++) {
    const lead = count === 0 ? "" : "caused by "
    // Node's message of a rejection with another value quotes the value.
    if (!(next instanceof Error) || ErrorCode.of(next) === "ERR_UNHANDLED_REJECTION") {
      return [...lines, `${lead}a thrown value that is no error`]
    }
    const message = next instanceof SyntaxError ? "" : SafeMessage.redact(next.message.slice(0, maxMessage))
    lines.push(`${lead}${next.name}${codeOf(next)}${message === "" ? "" : `: ${message}`}`)
    lines.push(...framesOf(next.stack ?? ""))
    next = next.cause
  }
  return lines
}

/** One entry of the file. It begins with the time, and its other lines are indented. */
export const entry = (
  time: Date,
  pid: number,
  sentence: string,
  doing: string,
  details: ReadonlyArray<string> = []
): string => {
  const head = `${time.toISOString()} Model Gateway ${version} (process ${pid}) ${sentence}`
  const rest = [...(doing === "" ? [] : [`It had: ${doing}`]), ...details]
  return [head, ...rest.map((line) => `  ${line.trimStart()}`)].join("\n") + "\n"
}

/** Adds an entry to the file of a data folder. */
export const append = (dataDir: string, text: string): void => {
  const path = join(dataDir, file)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const bytes = Buffer.from(text)
  appendFileSync(path, bytes.subarray(0, Math.max(0, maxBytes - size)), { mode: 0o600 })
}

/** A full disk or a closed pipe must not prevent the other ways to leave the line. */
const attempt = (write: () => void): void => {
  try {
    write()
  } catch {
    // Nothing is left to do.
  }
}

/** For one process. */
export const make = (log: ProcessLog.Lines): Crash["Service"] => {
  let run: Run | undefined
  return {
    recordIn: (chosen) => {
      run = chosen
    },
    end: (reason, code, cause) => {
      const known = run
      const time = new Date()
      let doing = ""
      attempt(() => {
        doing = known?.doing() ?? ""
      })
      const details = cause === undefined ? [] : describe(cause)
      const text = entry(time, process.pid, `ended because of ${reason}.`, doing, details)
      log.write("crashed", text, time)
      if (known !== undefined) {
        attempt(() => {
          append(known.dataDir, text)
          rmSync(known.marker, { recursive: true, force: true })
        })
      }
      process.exit(code)
    }
  }
}
