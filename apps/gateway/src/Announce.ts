/**
 * What the gateway tells the person or the script that started it, on stdout: as text or, where the
 * log is JSON, as a line of the log, so that a collector of both streams can read every line.
 */
import * as LogEvent from "@model-gateway/server/LogEvent"
import * as LogLine from "@model-gateway/server/LogLine"
import { Clock, Console, Context, Effect } from "effect"

/** The format of the log. */
export const LogFormat = Context.Reference<"pretty" | "json">("@model-gateway/gateway/Announce/LogFormat", {
  defaultValue: () => "pretty"
})

/** The level of an event, as a line of the log has it. */
export const levelOf = (event: LogEvent.Event): LogLine.LogLine["level"] =>
  LogLine.Level.literals.find((level) => level === LogEvent.events[event].level.toUpperCase()) ?? "INFO"

/** Prints a text of one or more lines. */
export const say = (event: LogEvent.Event, text: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    if ((yield* LogFormat) === "pretty") return yield* Console.log(text)
    const time = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* Console.log(LogLine.format({ time, level: levelOf(event), event, message: text.trim() }))
  })
