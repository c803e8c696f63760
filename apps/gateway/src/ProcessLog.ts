/**
 * Log lines about the process itself, written to stderr outside of its program: about signals, its
 * end, and why it did not start. They are written at once, because the process may end.
 */
import type * as LogEvent from "@model-gateway/server/LogEvent"
import * as LogLine from "@model-gateway/server/LogLine"
import { Context } from "effect"
import { writeSync } from "node:fs"
import * as Announce from "./Announce.ts"
import * as Worker from "./Worker.ts"

/** The lines of one process. */
export interface Lines {
  /** The format from now on. Before, it is text. */
  readonly use: (format: "pretty" | "json") => void
  readonly isJson: () => boolean
  /** Writes one line, or a text of several lines. A closed pipe or a full disk is no error. */
  readonly write: (event: LogEvent.Event, text: string, time?: Date) => void
}

const details = Worker.number === undefined ? {} : { details: { worker: Worker.number } }

/** For one process. */
export const make = (): Lines => {
  let format: "pretty" | "json" = "pretty"
  return {
    use: (chosen) => {
      format = chosen
    },
    isJson: () => format === "json",
    write: (event, text, time = new Date()) => {
      const message = text.trimEnd()
      const line =
        format === "pretty"
          ? message
          : LogLine.format({ time: time.toISOString(), level: Announce.levelOf(event), event, message, ...details })
      try {
        writeSync(2, `${line}\n`)
      } catch {
        // Nobody can read it.
      }
    }
  }
}

/** Those of this process. Default: as text. */
export const ProcessLog = Context.Reference<Lines>("@model-gateway/gateway/ProcessLog", { defaultValue: make })
