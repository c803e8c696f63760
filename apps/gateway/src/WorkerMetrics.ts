/** Makes one page of the metrics of several workers. */

/** The metrics of one worker, in the text format of Prometheus. */
export interface Page {
  readonly worker: number
  readonly text: string
}

interface Family {
  /** The first line of each kind: `HELP` and `TYPE`. */
  readonly head: Map<string, string>
  readonly samples: Array<string>
}

/** The sample with the label `worker`. */
const labeled = (sample: string, worker: number): string =>
  sample.replace(/^([A-Za-z_:][\w:]*)(\{?)/, (_, name: string, brace: string) =>
    brace === "" ? `${name}{worker="${worker}"}` : `${name}{worker="${worker}",`
  )

/**
 * All samples of the pages, each with the label `worker`. The samples of a family stand together,
 * as the format requires.
 */
export const merge = (pages: ReadonlyArray<Page>): string => {
  const families = new Map<string, Family>()
  for (const { text, worker } of pages) {
    let family: Family | undefined
    for (const line of text.split("\n")) {
      const [, kind, name] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? []
      if (kind !== undefined && name !== undefined) {
        family = families.get(name) ?? { head: new Map(), samples: [] }
        families.set(name, family)
        if (!family.head.has(kind)) family.head.set(kind, line)
      } else if (line !== "" && !line.startsWith("#")) {
        family?.samples.push(labeled(line, worker))
      }
    }
  }
  const lines = Array.from(families.values()).flatMap(({ head, samples }) => [...head.values(), ...samples])
  return `${lines.join("\n")}\n`
}
