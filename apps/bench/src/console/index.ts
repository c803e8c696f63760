/**
 * `pnpm bench console`: the size of each page of the console and the playground, and when a person
 * sees something of them on a slow phone, at a gateway with a month of use.
 */
import * as Pages from "@model-gateway/test-filled/Browser"
import { startFilled } from "@model-gateway/test-filled/Filled"
import { fileURLToPath } from "node:url"
import { spread, table } from "../rounds.ts"
import { firstPaint, pages } from "./paint.ts"
import { measure } from "./sizes.ts"

const built = fileURLToPath(new URL("../../../console/dist/web", import.meta.url))

interface Result {
  readonly text: string
  readonly problems: ReadonlyArray<string>
}

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1)

const sizeTable = (): Result => {
  const sizes = measure(built)
  return {
    text: table(
      "Size in KB, compressed with Brotli",
      ["KB", "at most"],
      sizes.map(({ bound, bytes, name }) => [name, kilobytes(bytes), bound === undefined ? "" : kilobytes(bound)])
    ),
    problems: sizes.flatMap(({ bound, bytes, name }) =>
      bound !== undefined && bytes > bound ? [`${name}: ${kilobytes(bytes)} KB, at most ${kilobytes(bound)}`] : []
    )
  }
}

/** The best round counts: others use the machine too. */
const paintTable = async (rounds: number): Promise<Result> => {
  const [browser, gateway] = await Promise.all([Pages.launch(), startFilled()])
  try {
    const measured = pages.map(() => Array<number>())
    for (let round = 0; round < rounds; round++) {
      for (const [index, { path }] of pages.entries()) {
        measured[index]?.push(await firstPaint(browser, gateway.origin, path, gateway.managementKey))
      }
    }
    const rows = pages.map(({ bound, path }, index) => ({ bound, path, times: spread(measured[index] ?? []) }))
    return {
      text: table(
        "First contentful paint in milliseconds, on slow 4G with a quarter of the CPU",
        ["min", "median", "max", "at most"],
        rows.map(({ bound, path, times: { max, median, min } }) => [
          path,
          ...[min, median, max, bound].map((milliseconds) => milliseconds.toFixed(0))
        ])
      ),
      problems: rows
        .filter(({ bound, times }) => !(times.min <= bound))
        .map(({ bound, path, times }) => `${path}: ${times.min.toFixed(0)} ms, at most ${bound}`)
    }
  } finally {
    await browser.close()
    await gateway.stop()
  }
}

/** The tables, and what missed its bound. */
export const run = async (
  quick: boolean
): Promise<{ readonly texts: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> }> => {
  const results = [sizeTable(), await paintTable(quick ? 3 : 10)]
  return { texts: results.map(({ text }) => text), problems: results.flatMap(({ problems }) => problems) }
}
