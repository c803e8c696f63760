/** The figures of each group, with shares of the whole, and their sums in the last row. */
import type { Group, Measure, Sums } from "../../parts/activity.ts"
import { count, percent, credits } from "../../parts/format.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { PageLink } from "../../shell/PageLink.tsx"

/** The figures of a group. */
export interface GroupRow extends Sums {
  /** The id or name that the API has for it. */
  readonly id: string
  readonly name: string
  readonly p95: number | undefined
  /** The measure in the time before. Undefined: it has none. */
  readonly before: number | undefined
}

const figureOf = (row: GroupRow, measure: Measure): number => row[measure] ?? 0

const Change = ({ before, now }: { readonly now: number; readonly before: number | undefined }) => {
  if (before === undefined || before === 0) return now === 0 ? "" : "new"
  const change = now / before - 1
  return `${change > 0 ? "+" : ""}${percent(change)}`
}

/** A name that leads to the requests of its group. */
const Name = ({
  group,
  keyHash,
  row
}: {
  readonly group: Group | undefined
  readonly row: GroupRow
  readonly keyHash: string | undefined
}) => {
  if (row.id === "") return row.name
  const key = keyHash
  switch (group) {
    case "key":
      return (
        <PageLink page="requests" search={{ key: row.id }}>
          {row.name}
        </PageLink>
      )
    case "model":
    case "provider":
    case "user":
      return (
        <PageLink page="requests" search={{ [group]: row.id, key }}>
          {row.name}
        </PageLink>
      )
    case "guardrail":
      return (
        <PageLink page="guardrails" search={{ id: row.id }}>
          {row.name}
        </PageLink>
      )
    case "workspace":
      return (
        <PageLink page="usage" search={{ workspace: row.id, key }}>
          {row.name}
        </PageLink>
      )
    case undefined:
      return row.name
  }
}

const titles: { readonly [G in Group]: string } = {
  key: "Key",
  user: "User",
  workspace: "Workspace",
  model: "Model",
  provider: "Provider",
  guardrail: "Guardrail"
}

export const UsageTable = ({
  format,
  group,
  isCompared,
  keyHash,
  label,
  measure,
  rows,
  total
}: {
  readonly group: Group | undefined
  readonly measure: Measure
  /** The name of the measure. */
  readonly label: string
  readonly format: (value: number) => string
  readonly rows: ReadonlyArray<GroupRow>
  /** Undefined: the measure has no sum. */
  readonly total: Sums | undefined
  /** Whether the figures of the time before are shown. */
  readonly isCompared: boolean
  /** The key whose requests are shown. Undefined: all. */
  readonly keyHash: string | undefined
}) => {
  const whole = measure === "p95" ? 0 : (total?.[measure] ?? 0)
  const columns: ReadonlyArray<Column<GroupRow>> = [
    {
      key: "name",
      title: group === undefined ? "Group" : titles[group],
      width: "minmax(11rem, 2fr)",
      cell: (row) => <Name row={row} group={group} keyHash={keyHash} />,
      sort: ({ name }) => name
    },
    {
      key: "figure",
      title: label,
      width: "minmax(6rem, 1fr)",
      align: "right",
      cell: (row) => (row[measure] === undefined ? "" : format(figureOf(row, measure))),
      sort: (row) => figureOf(row, measure)
    },
    ...(total === undefined
      ? []
      : [
          {
            key: "share",
            title: "Share",
            width: "minmax(9rem, 1fr)",
            align: "right" as const,
            cell: (row: GroupRow) => <Share share={whole === 0 ? 0 : figureOf(row, measure) / whole} />,
            sort: (row: GroupRow) => figureOf(row, measure)
          }
        ]),
    ...(isCompared
      ? [
          {
            key: "before",
            title: "Before",
            width: "6rem",
            align: "right" as const,
            cell: ({ before }: GroupRow) => (before === undefined ? "" : format(before)),
            sort: ({ before }: GroupRow) => before ?? 0
          },
          {
            key: "change",
            title: "Change",
            width: "6rem",
            align: "right" as const,
            cell: (row: GroupRow) => <Change now={figureOf(row, measure)} before={row.before} />,
            sort: (row: GroupRow) => figureOf(row, measure) - (row.before ?? 0)
          }
        ]
      : []),
    ...(measure === "spend"
      ? []
      : [
          {
            key: "spend",
            title: "Credits",
            width: "6rem",
            align: "right" as const,
            cell: ({ spend }: GroupRow) => credits(spend),
            sort: ({ spend }: GroupRow) => spend
          }
        ]),
    ...(measure === "requests"
      ? []
      : [
          {
            key: "requests",
            title: "Requests",
            width: "6rem",
            align: "right" as const,
            cell: ({ requests }: GroupRow) => count(requests),
            sort: ({ requests }: GroupRow) => requests
          }
        ]),
    {
      key: "failed",
      title: "Failed",
      width: "5rem",
      align: "right",
      cell: ({ failures, requests }) => (failures === 0 ? "0%" : percent(failures / requests)),
      sort: ({ failures, requests }) => failures / Math.max(1, requests)
    }
  ]
  const sorted = rows.toSorted((a, b) => figureOf(b, measure) - figureOf(a, measure))
  return <Table label={`${label}, largest first`} columns={columns} rows={sorted} rowKey={({ id }) => id} />
}

const Share = ({ share }: { readonly share: number }) => (
  <span className="share">
    <span className="share-bar" aria-hidden="true">
      <span style={{ width: `${share * 100}%` }} />
    </span>
    {percent(share)}
  </span>
)
