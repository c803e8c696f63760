/**
 * The three parts of a task: parameters, input and result, code and facts. They stand side by side
 * on wide screens. On others they are tabs, and the button that runs stays at the bottom.
 */
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react"
import { credits } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Code } from "./Code.tsx"
import { Facts } from "./Facts.tsx"
import { HistoryList } from "./HistoryList.tsx"
import type { CodeCall } from "./shared/programs.ts"
import type { Exchange } from "./shared/exchange.ts"
import { type Form, linkTo, type Selection, type Task } from "./shared/link.ts"
import type { Estimated } from "./shared/useEstimate.ts"
import { fingerprint, type Run } from "./shared/useRun.ts"
import { Tabs } from "./Tabs.tsx"

const wide = matchMedia("(width >= 1200px)")

const useIsWide = () =>
  useSyncExternalStore(
    (changed) => {
      wide.addEventListener("change", changed)
      return () => wide.removeEventListener("change", changed)
    },
    () => wide.matches
  )

type Part = "parameters" | "work" | "code"

const parts: ReadonlyArray<readonly [Part, string]> = [
  ["work", "Input"],
  ["parameters", "Parameters"],
  ["code", "Code and facts"]
]

/** Ctrl+Enter runs, Escape cancels. An open dialog has its own keys. */
const useKeys = (isShown: boolean, isRunning: boolean, run: () => void, cancel: () => void) => {
  // At once, not after the next frame: a key that follows a change runs the form as it is now.
  useLayoutEffect(() => {
    if (!isShown) return
    const pressed = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]") !== null) return
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        run()
      } else if (event.key === "Escape" && isRunning) cancel()
    }
    addEventListener("keydown", pressed)
    return () => removeEventListener("keydown", pressed)
  })
}

const Cost = ({ estimated: { error, estimate } }: { readonly estimated: Estimated }) => {
  if (error !== undefined) return <span className="issue">{error.message}</span>
  if (estimate === undefined) return null
  const { max_cost, offers } = estimate
  return (
    <span className="hint figures">
      {max_cost === 0 ? "costs nothing" : `up to ${credits(max_cost)} credits`}
      {max_cost > 0 && offers.length > 1 && (
        <span className="wide">: {offers.map((each) => `${each.provider} ${credits(each.max_cost)}`).join(", ")}</span>
      )}
    </span>
  )
}

const LinkButton = ({ form, task }: { readonly task: Task; readonly form: Form }) => {
  const [said, setSaid] = useState("")
  const copy = async () => {
    const link = linkTo(location.href.split("#")[0] ?? location.href, task, form)
    if (link !== undefined) await navigator.clipboard.writeText(link)
    setSaid(link === undefined ? "The form is too long for a link." : "Copied")
    setTimeout(() => setSaid(""), 2500)
  }
  return (
    <>
      <button type="button" className="quiet" onClick={() => void copy()}>
        <Icon name="copy" />
        Copy link
      </button>
      <span className="hint" role="status">
        {said}
      </span>
    </>
  )
}

/** The state of the last run in words. */
const saidOf = (run: Run, isStale: boolean): string => {
  if (run.isRunning) return "Running …"
  if (run.isCanceled) return "Canceled."
  if (run.outcome === undefined) return ""
  return isStale ? "The form has changed since this result." : ""
}

export const Workbench = ({
  action,
  children,
  code,
  estimated,
  facts,
  form,
  input,
  isShown,
  onOpen,
  onRun,
  parameters,
  problem,
  run,
  task
}: {
  readonly task: Task
  readonly isShown: boolean
  /** The words of the button that runs. */
  readonly action: string
  readonly form: Form
  readonly parameters: ReactNode
  readonly input: ReactNode
  /** The result. */
  readonly children: ReactNode
  readonly run: Run
  readonly onRun: () => void
  /** Why the request cannot be sent yet. */
  readonly problem: string | undefined
  readonly estimated: Estimated
  readonly code: CodeCall
  /** Default: those of the last run. `id`: that of the request log. */
  readonly facts?: ReadonlyArray<readonly [title: string, exchange: Exchange, id?: string | undefined]>
  readonly onOpen: (selection: Selection) => void
}) => {
  const isWide = useIsWide()
  const [part, setPart] = useState<Part>("work")
  const [isRefused, setRefused] = useState(false)
  const current = useMemo(() => fingerprint(form), [form])
  const isStale = run.outcome !== undefined && run.outcome.input !== current
  const begin = () => {
    setPart("work")
    setRefused(problem !== undefined)
    if (problem === undefined) onRun()
  }
  useKeys(isShown, run.isRunning, begin, run.cancel)
  // On narrow screens the result is below the input, out of sight.
  const result = useRef<HTMLDivElement>(null)
  const { outcome } = run
  useEffect(() => {
    if (outcome !== undefined && !wide.matches) result.current?.scrollIntoView({ block: "start" })
  }, [outcome])
  const exchanges: NonNullable<typeof facts> =
    facts ?? (run.outcome === undefined ? [] : [["", run.outcome.exchange] as const])
  const isHidden = (name: Part) => !isWide && part !== name
  const said = saidOf(run, isStale)
  return (
    <div className="work">
      {!isWide && (
        <Tabs
          label="Parts of the task"
          tabs={parts}
          selected={part}
          onSelect={setPart}
          controls={(name) => `${task}-${name}`}
        />
      )}
      <section
        id={`${task}-parameters`}
        className="work-parameters form"
        aria-label="Parameters"
        hidden={isHidden("parameters")}
      >
        {parameters}
        <div className="bar">
          <LinkButton form={form} task={task} />
        </div>
      </section>
      <section id={`${task}-work`} className="work-main" aria-label="Input and result" hidden={isHidden("work")}>
        {input}
        <div ref={result} className="result" data-stale={isStale} aria-busy={run.isRunning}>
          {children}
        </div>
      </section>
      <div className="run-bar">
        <button type="button" className="primary" disabled={run.isRunning} onClick={begin}>
          <Icon name="play" />
          {action}
          <kbd className="wide" aria-hidden="true">
            Ctrl ⏎
          </kbd>
        </button>
        {run.isRunning && (
          <button type="button" onClick={run.cancel}>
            Cancel <kbd className="wide">Esc</kbd>
          </button>
        )}
        <span
          className={isRefused && problem !== undefined ? "issue" : isStale && !run.isRunning ? "stale" : "hint"}
          role="status"
        >
          {isRefused && problem !== undefined ? problem : said}
        </span>
        <span className="end">
          <Cost estimated={estimated} />
        </span>
      </div>
      <section id={`${task}-code`} className="work-code" aria-label="Code and facts" hidden={isHidden("code")}>
        <Code call={code} />
        {exchanges.map(([title, exchange, id]) => (
          <Facts key={`${title} ${exchange.requestId}`} title={title} exchange={exchange} id={id} />
        ))}
        {isShown && <HistoryList onOpen={onOpen} />}
      </section>
    </div>
  )
}
