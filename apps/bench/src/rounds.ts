/**
 * Interleaved rounds: in each round every contender runs a batch, in rotating order, so that a slow
 * phase of the machine slows all of them. The result is the ratio to the reference in each round.
 */
export interface Contender {
  readonly name: string
  /** Runs a batch of calls and returns the microseconds per call. */
  readonly batch: (size: BatchSize) => Promise<number>
}

export interface Spread {
  readonly min: number
  /** A quarter of the values are at most this. */
  readonly lower: number
  readonly median: number
  /** A quarter of the values are at least this. */
  readonly upper: number
  readonly max: number
}

export interface Row {
  readonly name: string
  /** Microseconds per call of the whole process's time. */
  readonly microseconds: Spread
  /** The time relative to the reference's in the same round. */
  readonly ratio: Spread
}

export interface BatchSize {
  readonly calls: number
  /** Concurrent calls. */
  readonly concurrency: number
}

export interface Options extends BatchSize {
  readonly rounds: number
}

export const spread = (values: ReadonlyArray<number>): Spread => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (i: number): number => sorted[i] ?? Number.NaN
  /** Between the two values next to the fraction. */
  const quantile = (fraction: number): number => {
    const place = (sorted.length - 1) * fraction
    const below = at(Math.floor(place))
    return below + (at(Math.ceil(place)) - below) * (place % 1)
  }
  return { min: at(0), lower: quantile(0.25), median: quantile(0.5), upper: quantile(0.75), max: at(sorted.length - 1) }
}

/** Runs a batch of one call, start to end, and returns the microseconds of one call. */
export const timed = async (call: () => Promise<unknown>, { calls, concurrency }: BatchSize): Promise<number> => {
  let left = calls
  const worker = async () => {
    while (left-- > 0) await call()
  }
  const startedAt = process.hrtime.bigint()
  await Promise.all(Array.from({ length: concurrency }, worker))
  return Number(process.hrtime.bigint() - startedAt) / 1000 / calls
}

/**
 * Measures every contender once in each round, after one run to warm up. The order rotates, and
 * every second round goes backward, so that no contender always follows the same other one. Returns
 * the measurements of each contender.
 */
export const inRounds = async <C, A>(
  contenders: ReadonlyArray<C>,
  rounds: number,
  measure: (contender: C) => Promise<A>
): Promise<ReadonlyArray<ReadonlyArray<A>>> => {
  const measured = contenders.map((): Array<A> => [])
  for (const contender of contenders) await measure(contender)
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const place = round % 2 === 0 ? turn : contenders.length - 1 - turn
      const i = (place + round) % contenders.length
      const contender = contenders[i]
      if (contender !== undefined) measured[i]?.push(await measure(contender))
    }
  }
  return measured
}

/** The first contender is the reference. */
export const compare = async (contenders: ReadonlyArray<Contender>, options: Options): Promise<ReadonlyArray<Row>> => {
  const times = await inRounds(contenders, options.rounds, (contender) => contender.batch(options))
  const reference = times[0] ?? []
  return contenders.map(({ name }, i) => {
    const own = times[i] ?? []
    return {
      name,
      microseconds: spread(own),
      ratio: spread(own.map((time, round) => time / (reference[round] ?? Number.NaN)))
    }
  })
}

const three = ({ min, median, max }: Spread, digits: number): [string, string, string] => [
  min.toFixed(digits),
  median.toFixed(digits),
  max.toFixed(digits)
]

/** A table in Markdown, ready to paste. The first cell of a row is its name. */
export const table = (
  title: string,
  columns: ReadonlyArray<string>,
  lines: ReadonlyArray<ReadonlyArray<string>>
): string => {
  const header = ["", ...columns]
  const widths = header.map((column, i) => Math.max(column.length, ...lines.map((line) => line[i]?.length ?? 0)))
  const format = (line: ReadonlyArray<string>): string =>
    `| ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`
  return [
    `### ${title}`,
    "",
    format(header),
    `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`,
    ...lines.map(format),
    ""
  ].join("\n")
}

/** The table of a comparison. */
export const comparisonTable = (
  title: string,
  reference: string,
  rows: ReadonlyArray<Row>,
  target: (row: Row) => string
): string =>
  table(
    title,
    [`× ${reference} min`, "median", "max", "µs a call min", "median", "max", "to reach"],
    rows.map((row) => [row.name, ...three(row.ratio, 2), ...three(row.microseconds, 0), target(row)])
  )
