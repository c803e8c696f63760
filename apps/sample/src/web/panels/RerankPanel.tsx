/** Ranks a list of documents by their relevance to a question. */
import type { Rerank } from "@model-gateway/core"
import { useRef, useState } from "react"
import * as Inputs from "../../Inputs.ts"
import { rankDocuments, type Ranking } from "../../Program.ts"
import { credits } from "../../Texts.ts"
import { Field, Select } from "../parts/Field.tsx"
import { Outcome } from "../parts/Outcome.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { snippets } from "../Snippets.ts"
import type { ModelIds } from "../useModels.ts"
import { useTask } from "../useTask.ts"

const sample = Inputs.make(Inputs.sandboxModels).rerank

interface Entry {
  readonly id: number
  readonly text: string
}

const textOf = (document: Rerank.Document): string => (typeof document === "string" ? document : (document.text ?? ""))

export const RerankPanel = ({ active, models }: { readonly active: boolean; readonly models: ModelIds }) => {
  const task = useTask<Ranking>("rerank")
  const [query, setQuery] = useState(sample.query)
  const [model, setModel] = useState(sample.model)
  const [topN, setTopN] = useState("")
  const [documents, setDocuments] = useState<ReadonlyArray<Entry>>(() =>
    sample.documents.map((document, id) => ({ id, text: textOf(document) }))
  )
  const nextId = useRef(documents.length)
  const list = useRef<HTMLUListElement>(null)
  const add = useRef<HTMLButtonElement>(null)

  const submit = () => {
    const [first, ...rest] = documents.map(({ text }) => text).filter((text) => text.trim() !== "")
    if (first === undefined) return task.reject("Enter at least one document.")
    task.run(
      rankDocuments({
        model,
        query,
        documents: [first, ...rest],
        ...(topN === "" ? {} : { top_n: Number(topN) })
      })
    )
  }

  return (
    <Panel
      id="rerank"
      title="Rank documents"
      lead="Sorts documents by their relevance to a question, most relevant first."
      code={snippets.rerank}
      active={active}
    >
      <TaskForm
        task={task}
        label="Rank"
        onSubmit={submit}
        running="Ranking …"
        done={({ response }) => `${response.results.length} ranked`}
      >
        <Field label="Question">
          {(ids) => <input {...ids} value={query} required onChange={(event) => setQuery(event.target.value)} />}
        </Field>
        <fieldset>
          <legend>Documents</legend>
          <ul className="documents" ref={list}>
            {documents.map(({ id, text }, index) => (
              <li key={id}>
                <textarea
                  aria-label={`Document ${index + 1}`}
                  rows={2}
                  value={text}
                  onChange={(event) =>
                    setDocuments(documents.map((each) => (each.id === id ? { id, text: event.target.value } : each)))
                  }
                />
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Remove document ${index + 1}`}
                  onClick={() => {
                    setDocuments(documents.filter((each) => each.id !== id))
                    add.current?.focus()
                  }}
                >
                  <span aria-hidden="true">✕</span>
                </button>
              </li>
            ))}
          </ul>
          <button
            ref={add}
            type="button"
            className="small"
            onClick={() => {
              setDocuments([...documents, { id: nextId.current++, text: "" }])
              requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("li:last-child textarea")?.focus())
            }}
          >
            Add a document
          </button>
        </fieldset>
        <div className="fields">
          <Select label="Model" value={model} options={models.rerank} onChange={setModel} />
          <Field label="Results (top_n)">
            {(ids) => (
              <input
                {...ids}
                type="number"
                min={1}
                step={1}
                placeholder="all"
                value={topN}
                onChange={(event) => setTopN(event.target.value)}
              />
            )}
          </Field>
        </div>
      </TaskForm>
      <Outcome task={task}>{task.state._tag === "Done" ? <Results ranking={task.state.value} /> : null}</Outcome>
    </Panel>
  )
}

const Results = ({ ranking: { query, response } }: { readonly ranking: Ranking }) => {
  const best = Math.max(...response.results.map(({ relevance_score }) => relevance_score))
  return (
    <div className="card">
      <h3>“{query}”</h3>
      <ol className="ranking">
        {response.results.map(({ document, index, relevance_score }) => (
          <li key={index}>
            <span className="score">{relevance_score.toFixed(3)}</span>
            <div className="bar" aria-hidden="true">
              <div style={{ width: `${best > 0 ? (100 * relevance_score) / best : 0}%` }} />
            </div>
            <p>{document.text ?? `Document ${index + 1}`}</p>
          </li>
        ))}
      </ol>
      <p className="hint">
        {response.model}
        {response.provider === undefined ? "" : ` by ${response.provider}`}
        {response.usage?.cost === undefined
          ? ""
          : response.usage.cost === 0
            ? ", free"
            : `, for ${credits(response.usage.cost)}`}
      </p>
    </div>
  )
}
