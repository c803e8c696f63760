/** Ranks documents by their relevance to a query, with one model or two. */
import { useMemo, useState } from "react"
import type { Success } from "../../api/Contract.ts"
import { TextField } from "../../parts/Fields.tsx"
import { count, counted, credits } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Failure } from "../Failure.tsx"
import { FileDrop } from "../FileDrop.tsx"
import { ModelPicker } from "../ModelPicker.tsx"
import type { TaskProps } from "../Playground.tsx"
import { ProviderField } from "../Provider.tsx"
import { answerOf, type Exchange } from "../shared/exchange.ts"
import { save } from "../shared/files.ts"
import { bothOf, useEstimate } from "../shared/useEstimate.ts"
import { useForm } from "../shared/useForm.ts"
import { useModel } from "../shared/useModels.ts"
import { useRun } from "../shared/useRun.ts"
import { Workbench } from "../Workbench.tsx"
import { DocumentsField } from "./DocumentsField.tsx"
import { type Document, type Format, formats, read, textOf } from "./documents.ts"
import { Ranking } from "./Ranking.tsx"
import { rank, toCsv } from "./ranking.ts"
import { bodyOf, codeOf, defaults, problemOf } from "./request.ts"
import "./rerank.css"

type Response = Success<"POST /rerank">

/** What was run: the form may have changed since. */
interface Input {
  readonly query: string
  readonly documents: ReadonlyArray<Document>
}

const responseOf = (exchange: Exchange) => answerOf<Response>(exchange)

/** How documents were read. */
const readAs: { readonly [F in Exclude<Format, "auto">]: string } = {
  lines: "one on each line",
  csv: "read as CSV",
  jsonl: "read as JSON Lines"
}

const formatNames: { readonly [F in Format]: string } = {
  auto: "Detect the format",
  lines: "A document on each line",
  csv: "CSV",
  jsonl: "JSON Lines"
}

const Column = ({
  cutOff,
  exchange,
  input,
  onRepeat
}: {
  readonly exchange: Exchange
  readonly input: Input
  readonly cutOff: number
  readonly onRepeat: () => void
}) => {
  const response = responseOf(exchange)
  const ranked = useMemo(() => rank(response?.results ?? []), [response])
  if (exchange.error !== undefined) return <Failure error={exchange.error} onRepeat={onRepeat} />
  if (response === undefined) return null
  const above = ranked.filter(({ score }) => score >= cutOff).length
  return (
    <div className="ranking-column">
      <p className="hint figures">
        <code>{response.model}</code> · {count(above)} of {count(ranked.length)} at or above the cut-off
        {response.usage?.cost !== undefined && ` · ${credits(response.usage.cost)} credits`}
      </p>
      {response.warnings?.map((warning) => (
        <p key={warning} className="hint">
          <Icon name="warning" /> {warning}
        </p>
      ))}
      <Ranking
        label={`Ranking of ${response.model}`}
        ranked={ranked}
        query={input.query}
        documents={input.documents}
        cutOff={cutOff}
      />
    </div>
  )
}

const Result = ({
  exchanges,
  input,
  onRepeat
}: {
  readonly exchanges: ReadonlyArray<Exchange>
  readonly input: Input
  readonly onRepeat: () => void
}) => {
  const [cutOff, setCutOff] = useState("0")
  const [first = [], second] = useMemo(
    () => exchanges.map((exchange) => rank(responseOf(exchange)?.results ?? [])),
    exchanges
  )
  return (
    <>
      {first.length > 0 && (
        <div className="bar">
          <label className="cut-off">
            Cut-off
            <input
              type="range"
              min="0"
              max="1"
              step="0.01"
              value={cutOff}
              onChange={({ target }) => setCutOff(target.value)}
            />
            <output className="figures">{Number(cutOff).toFixed(2)}</output>
          </label>
          <button
            type="button"
            className="end"
            onClick={() =>
              save(
                "ranking.csv",
                "text/csv",
                toCsv(
                  first,
                  (index) => textOf(input.documents[index] ?? ""),
                  second && new Map(second.map((ranked) => [ranked.index, ranked]))
                )
              )
            }
          >
            <Icon name="download" />
            CSV
          </button>
        </div>
      )}
      <div className={exchanges.length > 1 ? "ranking-columns" : undefined}>
        {exchanges.map((exchange, at) => (
          <Column key={at} exchange={exchange} input={input} cutOff={Number(cutOff)} onRepeat={onRepeat} />
        ))}
      </div>
    </>
  )
}

const Rerank = ({ initial, isShown, onOpen }: TaskProps) => {
  const { form, set, setForm } = useForm(defaults, initial)
  const run = useRun("rerank")
  const other = useRun("rerank")
  const [input, setInput] = useState<Input>({ query: "", documents: [] })
  const model = useModel(form.model, "rerank")
  const format = formats.find((name) => name === form.format) ?? "auto"
  const parsed = useMemo(() => read(form.documents, format, form.column), [form.documents, format, form.column])
  const { documents } = parsed
  const problem = problemOf(form, documents, parsed.problem)
  const body = useMemo(() => bodyOf(form, form.model, documents), [form, documents])
  const isPair = form.compare !== ""
  const otherBody = useMemo(() => bodyOf(form, form.compare, documents), [form, documents])
  const one = useEstimate("rerank", problem === undefined ? body : undefined)
  const second = useEstimate("rerank", problem === undefined && isPair ? otherBody : undefined)
  const estimated = isPair ? bothOf(one, second) : one
  const start = () => {
    setInput({ query: form.query, documents })
    void run.start({ method: "POST", path: "/rerank", json: body }, form)
    if (!isPair) return other.reset()
    void other.start(
      { method: "POST", path: "/rerank", json: otherBody },
      { ...form, model: form.compare, compare: "" }
    )
  }
  const both = {
    ...run,
    isRunning: run.isRunning || other.isRunning,
    cancel: () => {
      run.cancel()
      other.cancel()
    }
  }
  const exchanges = [run, other].flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome.exchange]))
  return (
    <Workbench
      task="rerank"
      isShown={isShown}
      action="Rank"
      form={form}
      run={both}
      onRun={start}
      problem={problem}
      estimated={estimated}
      code={codeOf(form, documents)}
      {...(exchanges.length > 1 && {
        facts: exchanges.map((exchange) => [responseOf(exchange)?.model ?? "Failed", exchange] as const)
      })}
      onOpen={onOpen}
      parameters={
        <>
          <ModelPicker
            kind="rerank"
            value={form.model}
            onChange={(id) => setForm({ ...form, model: id, provider: "" })}
          />
          {isPair ? (
            <>
              <ModelPicker
                kind="rerank"
                label="Second model"
                value={form.compare}
                onChange={(id) => set("compare", id)}
              />
              <button type="button" onClick={() => set("compare", "")}>
                Remove the second model
              </button>
            </>
          ) : (
            <button type="button" onClick={() => set("compare", form.model)}>
              <Icon name="plus" />
              Compare two models
            </button>
          )}
          <TextField
            label="Results"
            name="top_n"
            type="number"
            value={form.top_n}
            placeholder="all"
            hint="How many of the most relevant documents to return."
            error={estimated.error ?? null}
            onChange={(value) => set("top_n", value)}
          />
          <ProviderField
            providers={model?.providers ?? []}
            value={form.provider}
            onChange={(value) => set("provider", value)}
          />
        </>
      }
      input={
        <div className="form">
          <TextField
            label="Query"
            name="query"
            value={form.query}
            error={estimated.error ?? null}
            onChange={(value) => set("query", value)}
          />
          <DocumentsField
            value={form.documents}
            documents={documents}
            error={estimated.error ?? null}
            hint={parsed.problem ?? `${counted(documents.length, "document")}, ${readAs[parsed.format]}.`}
            onChange={(value) => set("documents", value)}
          />
          <div className="bar">
            <select aria-label="Format" value={format} onChange={({ target }) => set("format", target.value)}>
              {formats.map((name) => (
                <option key={name} value={name}>
                  {formatNames[name]}
                </option>
              ))}
            </select>
            {parsed.columns.length > 1 && (
              <select
                aria-label="Column with the text"
                value={parsed.column}
                onChange={({ target }) => set("column", target.value)}
              >
                {parsed.columns.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
            <FileDrop
              label="Open a file"
              accept=".txt,.csv,.tsv,.jsonl,.ndjson,text/plain,text/csv"
              onFile={(file) => {
                void file.text().then((documents) => {
                  const extension = file.name.split(".").at(-1)?.toLowerCase()
                  const known =
                    extension === "csv" || extension === "tsv" ? "csv" : extension === "jsonl" ? "jsonl" : "auto"
                  setForm({ ...form, documents, format: known, column: "" })
                })
              }}
            />
          </div>
        </div>
      }
    >
      {exchanges.length > 0 && <Result exchanges={exchanges} input={input} onRepeat={start} />}
    </Workbench>
  )
}

export default Rerank
