/**
 * Prints the program's events: the outcome of each step and, in an interactive terminal, a progress
 * bar that is redrawn in place. Output to a file or a pipe consists of whole lines only.
 */
import type { Video } from "@model-gateway/core"
import { Clock, Effect, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { explain, type Advice } from "../Explanation.ts"
import { type Event, type Outcome, type Step, succeeded } from "../Program.ts"
import { order, titles } from "../Texts.ts"
import * as Report from "./Report.ts"
import { bar, clean, colored, plain, type Style } from "./Style.ts"

/** Presents one run. */
export interface Presenter {
  /** Call it before the first step. */
  readonly begin: Effect.Effect<void>
  readonly present: (event: Event) => Effect.Effect<void>
  /** Call it after the last step. */
  readonly end: (outcomes: ReadonlyArray<Outcome>) => Effect.Effect<void>
  /** Call it when the run was interrupted and its video job is canceled. */
  readonly interrupted: Effect.Effect<void>
}

const indent = "     "

/** Makes a presenter for the terminal in the context. */
export const make = Effect.fnUntraced(function* (advice: Advice) {
  const terminal = yield* Terminal.Terminal
  const { canAnimate, canColor } = yield* TerminalCapabilities.TerminalCapabilities
  const style: Style = canColor ? colored : plain
  const columns = (yield* terminal.columns) || 80
  const width = Math.max(40, Math.min(100, columns) - indent.length)
  /** Width of the progress bar. Its line must not wrap, because only one line can be redrawn. */
  const cells = Math.max(4, Math.min(32, columns - 44))

  // If the reader of a pipe closes it, the program continues without output.
  const write = (text: string) => Effect.ignore(terminal.display(text))
  /** Whether the last line is redrawn by the next output. */
  let transient = false
  const lines = (texts: ReadonlyArray<string>) => {
    const erase = transient ? "\r\u001b[2K" : ""
    transient = false
    return write(erase + texts.map((text) => `${text}\n`).join(""))
  }
  const overwrite = (text: string) => {
    const erase = transient ? "\r\u001b[2K" : ""
    transient = true
    return write(erase + text)
  }

  let startedAt = 0
  let stepStartedAt = 0
  const since = (start: number) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      now - start < 1000 ? `${Math.round(now - start)} ms` : `${((now - start) / 1000).toFixed(1)} s`
    )
  const heading = (step: Step, mark: string) =>
    `${String(order.indexOf(step) + 1).padStart(2)} ${mark} ${style.bold(titles[step])}`

  let shown: Video.Job | undefined
  const videoChanged = (job: Video.Job): Effect.Effect<void> => {
    const before = shown
    shown = job
    const state = clean(job.status.replace("_", " "))
    if (job.status === "cancelled") return lines([`${indent}The job ${clean(job.id)} is cancelled.`])
    if (canAnimate) {
      const drawn = bar(job.status === "completed" ? 1 : (job.progress ?? 0), cells)
      const filled = `${style.green(drawn)}${style.dim("·".repeat(cells - drawn.length))}`
      return overwrite(`${heading("video", "…")}  ${filled} ${percent(job)}${state}`)
    }
    const quarter = (of: Video.Job | undefined) => Math.floor((of?.progress ?? 0) * 4)
    return before?.status !== job.status || quarter(before) !== quarter(job)
      ? lines([`${indent}${style.dim(`${titles.video}: ${percent(job)}${state}`)}`])
      : Effect.void
  }

  const presenter: Presenter = {
    begin: Effect.gen(function* () {
      startedAt = yield* Clock.currentTimeMillis
      yield* lines([`${style.bold("Model gateway sample")} ${style.dim(`· ${clean(advice.baseUrl)}`)}`, ""])
    }),
    present: (event) =>
      Effect.gen(function* () {
        switch (event._tag) {
          case "Started":
            stepStartedAt = yield* Clock.currentTimeMillis
            shown = undefined
            return yield* canAnimate ? overwrite(heading(event.step, "…")) : Effect.void
          case "VideoChanged":
            return yield* videoChanged(event.job)
          case "Done":
            return yield* lines([
              `${heading(event.step, style.green("✔"))} ${style.dim(yield* since(stepStartedAt))}`,
              ...Report.done(event, style, width).map((line) => indent + line)
            ])
          case "Failed":
            return yield* lines([
              `${heading(event.step, style.red("✘"))} ${style.dim(yield* since(stepStartedAt))}`,
              ...Report.failed(explain(event.step, event.error, advice), style, width).map((line) => indent + line)
            ])
          case "Skipped":
            return yield* lines([
              heading(event.step, style.yellow("–")),
              `${indent}Skipped: step ${order.indexOf(event.failedStep) + 1} failed.`
            ])
        }
      }),
    end: (outcomes) =>
      Effect.gen(function* () {
        const successes = outcomes.filter(({ _tag }) => _tag === "Done").length
        const summary = `${successes} of ${outcomes.length} steps worked`
        yield* lines([
          "",
          `${(succeeded(outcomes) ? style.green : style.red)(summary)}, in ${yield* since(startedAt)}.`
        ])
      }),
    interrupted: Effect.suspend(() => lines(["", "Stopped."]))
  }
  return presenter
})

const percent = (job: Video.Job): string => (job.progress === undefined ? "" : `${Math.round(job.progress * 100)} % `)
