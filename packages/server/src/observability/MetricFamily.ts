/**
 * Declarations of metrics.
 *
 * A family is declared once, with its name, type, labels and help text. Its series in `/metrics`
 * and its row in the documentation come from the declaration.
 */
import { type Context, Metric } from "effect"

/** What Prometheus knows of a family. */
export type Type = "counter" | "gauge" | "histogram"

/**
 * Whose value it is. `process`: add the values of all processes. `all`: every process reports the
 * same value, such as a count of rows in the database, so take the maximum.
 */
export type Scope = "process" | "all"

/** A declared family. */
export interface Family {
  readonly name: string
  readonly type: Type
  readonly help: string
  readonly labels: ReadonlyArray<string>
  readonly scope: Scope
  /**
   * The values that its only label has, if they are known beforehand. Their series are there from
   * the start, so that the first increase is visible. A family without labels has one series.
   */
  readonly values: ReadonlyArray<string> | undefined
  /** Creates the series that exist from the start. */
  readonly prepareUnsafe: (context: Context.Context<never>) => void
}

/** Options of a family. */
export interface Options<Labels extends ReadonlyArray<string>> {
  readonly help: string
  readonly labels: Labels
  /** Default: `process`. */
  readonly scope?: Scope
  readonly values?: ReadonlyArray<string> | undefined
}

/** The values of labels, in the order of the labels. */
type Values<Labels extends ReadonlyArray<string>> = { readonly [Index in keyof Labels]: string }

/** The series of a family with these values of its labels. */
export type Series<Labels extends ReadonlyArray<string>, M> = (...values: Values<Labels>) => M

interface Node<M> {
  metric: M | undefined
  readonly children: Map<string, Node<M>>
}

const node = <M>(): Node<M> => ({ metric: undefined, children: new Map() })

/**
 * Finds the series by one map per label: the hot path looks series up, and a joined key would have
 * to be built and hashed each time.
 */
const finder = <M>(
  labels: ReadonlyArray<string>,
  make: (attributes: Metric.Metric.AttributeSet) => M
): ((values: ReadonlyArray<string>) => M) => {
  const root = node<M>()
  return (values) => {
    let at = root
    for (const value of values) {
      let next = at.children.get(value)
      if (next === undefined) {
        next = node()
        at.children.set(value, next)
      }
      at = next
    }
    return (at.metric ??= make(Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""]))))
  }
}

/** Declares families, and lists them. */
export interface Declarations {
  readonly families: ReadonlyArray<Family>
  readonly counter: <const Labels extends ReadonlyArray<string>>(
    name: string,
    options: Options<Labels>
  ) => Series<Labels, Metric.Counter<number>>
  readonly gauge: <const Labels extends ReadonlyArray<string>>(
    name: string,
    options: Options<Labels>
  ) => Series<Labels, Metric.Gauge<number>>
  readonly histogram: <const Labels extends ReadonlyArray<string>>(
    name: string,
    options: Options<Labels> & { readonly boundaries: ReadonlyArray<number> }
  ) => Series<Labels, Metric.Histogram<number>>
}

/** An empty list of declarations. */
export const declarations = (): Declarations => {
  const families: Array<Family> = []

  const declare = <Labels extends ReadonlyArray<string>, M extends Metric.Metric<number, unknown>>(
    name: string,
    type: Type,
    { help, labels, scope = "process", values }: Options<Labels>,
    make: (attributes: Metric.Metric.AttributeSet) => M
  ): Series<Labels, M> => {
    const find = finder(labels, make)
    const known = labels.length === 0 ? [[]] : labels.length === 1 ? (values ?? []).map((value) => [value]) : []
    families.push({
      name,
      type,
      help,
      labels,
      scope,
      values,
      prepareUnsafe: (context) => {
        for (const one of known) find(one).valueUnsafe(context)
      }
    })
    return (...values) => find(values)
  }

  return {
    families,
    counter: (name, options) =>
      declare(name, "counter", options, (attributes) =>
        Metric.counter(name, { description: options.help, attributes, incremental: true })
      ),
    gauge: (name, options) =>
      declare(name, "gauge", options, (attributes) => Metric.gauge(name, { description: options.help, attributes })),
    histogram: (name, options) =>
      declare(name, "histogram", options, (attributes) =>
        Metric.histogram(name, { description: options.help, attributes, boundaries: options.boundaries })
      )
  }
}
