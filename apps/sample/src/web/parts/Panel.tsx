/** The layout of all panels: a heading, forms and results, and example code. */
import type { ReactNode } from "react"
import { Snippet } from "./Snippet.tsx"

interface Props {
  readonly id: string
  readonly title: string
  readonly lead: string
  readonly code: string
  readonly active: boolean
  readonly children: ReactNode
}

/** Inactive panels are only hidden, so that their tasks continue. */
export const Panel = ({ active, children, code, id, lead, title }: Props) => (
  <section id={`panel-${id}`} className="panel" aria-labelledby={`heading-${id}`} hidden={!active}>
    <div className="panel-head">
      <h2 id={`heading-${id}`} tabIndex={-1}>
        {title}
      </h2>
      <p>{lead}</p>
    </div>
    <div className="panel-body">{children}</div>
    <Snippet title={title} code={code} />
  </section>
)
