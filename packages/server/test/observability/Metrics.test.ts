/** What `/metrics` shows, and the page of the documentation that says so. */
import { expect, it } from "@effect/vitest"
import { ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Metrics from "../../src/observability/Metrics.ts"
import * as MetricsTable from "./MetricsTable.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { kind } from "../TestStorage.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const root = join(import.meta.dirname, "..", "..", "..", "..")
const page = join(root, "docs", "reference", "metrics.md")

it("has a page with every family and label (written by vitest run --update)", async () => {
  const tables = [MetricsTable.familiesTable(), MetricsTable.labelsTable()]
  const written = readFileSync(page, "utf8").replaceAll(/(?:^\|.*\n)+/gm, () => tables.shift() ?? "")
  expect(tables).toEqual([])
  await expect(written).toMatchFileSnapshot(page)
})

it("says of every label what its values are, and of no other", () => {
  const used = new Set(MetricsTable.families.flatMap(({ labels }) => labels))
  expect(Object.keys(Metrics.labels)).toEqual([...used].toSorted())
})

const textOf = (...path: ReadonlyArray<string>) => readFileSync(join(root, ...path), "utf8")

const rules = textOf("deploy", "prometheus", "model-gateway.rules.yml")

it("has every family that the alerts and dashboards ask for", () => {
  const known = new Set(MetricsTable.families.map(({ name }) => name))
  const asked = [
    rules,
    ...["model-gateway", "model-gateway-process"].map((name) => textOf("deploy", "grafana", `${name}.json`))
  ]
    .flatMap((text) => text.match(/(?<![\w:-])(?:model_gateway|process|nodejs)_\w+(?!:)\b/g) ?? [])
    .map((name) => name.replace(/_bucket$/, ""))
  expect(new Set(asked).size).toBeGreaterThan(40)
  expect(asked.filter((name) => !known.has(name))).toEqual([])
})

it("has a section of the documentation for every alert, and no other", () => {
  const sections = Array.from(textOf("docs", "operate", "alerts.md").matchAll(/^## (.*)$/gm), ([, name]) => name)
  expect(Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name]) => name)).toEqual(sections)
})

/** The families of a text by name: their types, and the labels of each of their series. */
const parsed = (text: string) => {
  const types = new Map<string, string>()
  const series = new Map<string, Array<Readonly<Record<string, string>>>>()
  for (const line of text.split("\n")) {
    const [, declared, type = ""] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (declared !== undefined) types.set(declared, type)
    const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === "") continue
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "")
    const values = Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, label = "", value = ""]) => [label, value])
    )
    series.set(family, [...(series.get(family) ?? []), values])
  }
  return { types, series }
}

const offers = [
  scripted({ name: "up", rerank: (request) => Effect.succeed(asTheyCame(request)) }),
  scripted({ name: "down", rerank: () => Effect.fail(new ProviderError({ reason: new Unavailable() })) })
]

it.layer(layer(undefined, offers), { excludeTestServices: true })("/metrics", (it) => {
  const read = Effect.gen(function* () {
    const { ask } = yield* TestGateway
    return parsed((yield* ask("/metrics", { key: null })).text)
  })

  const rerank = (model: string, provider = "up") =>
    post("/api/v1/rerank", { model, query: "tea", documents: ["green tea"], provider: { only: [provider] } })

  // The first to read the states of circuits, which are kept for 5 seconds.
  it.effect("counts calls and skipped calls by the outcomes of the request log, and shows the open circuit", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const statuses = []
      for (let n = 0; n < 6; n++) statuses.push((yield* rerank("test/rank", "down")).status)
      expect(statuses).toEqual([502, 502, 502, 502, 502, 503])
      const { text } = yield* ask("/metrics", { key: null })
      const of = (family: string) =>
        text.split("\n").filter((line) => line.startsWith(`model_gateway_${family}{provider="down"`))
      const labels = 'provider="down",model="test/rank"'
      expect(of("upstream_attempts_total")).toEqual([
        `model_gateway_upstream_attempts_total{${labels},outcome="Unavailable"} 5`
      ])
      expect(of("upstream_skipped_total")).toEqual([
        `model_gateway_upstream_skipped_total{${labels},outcome="CircuitOpen"} 1`
      ])
      expect(of("circuit_state")).toEqual([`model_gateway_circuit_state{${labels}} 2`])
      expect(of("circuit_changes_total")).toEqual([`model_gateway_circuit_changes_total{${labels},state="open"} 1`])
    })
  )

  it.effect("shows the families of the page with their types and labels, and no other", () =>
    Effect.gen(function* () {
      expect((yield* rerank("test/rank")).status).toBe(200)
      const { series, types } = yield* read
      const declared = new Map(MetricsTable.families.map((family) => [family.name, family]))
      for (const [name, type] of types) {
        const family = declared.get(name)
        expect([name, family?.type]).toEqual([name, type])
        for (const { le: _le, ...labels } of series.get(name) ?? []) {
          expect([name, Object.keys(labels).toSorted()]).toEqual([name, [...(family?.labels ?? [])].toSorted()])
        }
      }
      // Every source could be read.
      expect(types.has("model_gateway_metrics_failures_total")).toBe(false)
      // The others need what no request has done here, or Postgres.
      const unused = /overrun|uncharged|skipped|changes|broadcast_events|failures/
      const expected = [...declared.keys()].filter(
        (name) => !unused.test(name) && (kind === "postgres" || !name.includes("database"))
      )
      expect(expected.filter((name) => !types.has(name))).toEqual([])
    })
  )

  it.effect("has no series for a model that the catalog does not have", () =>
    Effect.gen(function* () {
      for (const model of ["hostile/1", 'hostile/"2', "test/unknown"]) {
        expect((yield* rerank(model)).status).toBe(404)
      }
      const { series } = yield* read
      const models = [...series.values()].flat().flatMap(({ model }) => model ?? [])
      expect(models).toContain("test/rank")
      expect(models.filter((model) => /hostile|unknown/.test(model))).toEqual([])
    })
  )
})
