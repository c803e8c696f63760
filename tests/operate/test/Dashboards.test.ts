/**
 * The alerts and dashboards of `deploy`, in a real Prometheus that scrapes the executable under
 * load.
 */
import { freePort } from "@model-gateway/test-services/FreePort"
import { type Gateway, type Running, start, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { prometheusPrograms } from "@model-gateway/test-services/Prometheus"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const run = promisify(execFile)

const deploy = join(import.meta.dirname, "..", "..", "..", "deploy")
const programs = prometheusPrograms()
const token = "metrics-token-of-a-test"

const decodeResult = Schema.decodeSync(
  Schema.fromJsonString(
    Schema.Union([
      Schema.Struct({
        status: Schema.Literal("success"),
        data: Schema.Struct({ result: Schema.Array(Schema.Unknown) })
      }),
      Schema.Struct({ status: Schema.Literal("error"), error: Schema.String })
    ])
  )
)

const decodeRules = Schema.decodeSync(
  Schema.fromJsonString(
    Schema.Struct({
      data: Schema.Struct({
        groups: Schema.Array(
          Schema.Struct({
            rules: Schema.Array(
              Schema.Struct({
                name: Schema.String,
                query: Schema.String,
                health: Schema.String,
                lastError: Schema.optionalKey(Schema.String)
              })
            )
          })
        )
      })
    })
  )
)

const decodeAlerts = Schema.decodeSync(
  Schema.fromJsonString(
    Schema.Struct({
      data: Schema.Struct({
        alerts: Schema.Array(Schema.Struct({ labels: Schema.Record(Schema.String, Schema.String) }))
      })
    })
  )
)

/**
 * What has no data here: there is no Postgres, no broadcast destination, no request that cost more
 * than was reserved, and no value that could not be read.
 */
const withoutData =
  /database_connections|broadcast_events_total|overrun|uncharged|metrics_failures_total|outcome=~"Unauthorized\|OutOfCredit"/

describe.skipIf(programs === undefined)("the files of deploy", () => {
  const folder = mkdtempSync(join(tmpdir(), "dashboards-"))
  let gateway: Gateway
  let prometheus: Running
  let origin: string

  beforeAll(async () => {
    if (programs === undefined) return
    // Nothing listens on this port, so that a circuit opens.
    const nothing = await freePort()
    gateway = await startGateway(folder, {
      MODEL_GATEWAY_METRICS_TOKEN: token,
      COHERE_API_KEY: "key-of-a-test",
      COHERE_BASE_URL: `http://127.0.0.1:${nothing}`
    })
    const config = join(folder, "prometheus")
    cpSync(join(deploy, "prometheus"), config, { recursive: true })
    writeFileSync(join(config, "metrics-token"), token)
    const file = join(config, "prometheus.yml")
    writeFileSync(
      file,
      readFileSync(file, "utf8")
        .replaceAll(/_interval: \d+s/g, "_interval: 1s")
        .replace("gateway:8787", new URL(gateway.origin).host)
    )
    origin = `http://127.0.0.1:${await freePort()}`
    prometheus = start(
      programs.prometheus,
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, "tsdb")}`,
        `--web.listen-address=${new URL(origin).host}`
      ],
      { cwd: folder }
    )
    await prometheus.prints(/Server is ready to receive web requests/)
    await load()
  })

  afterAll(async () => {
    await prometheus?.stop()
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = (path: string, body: object) =>
    fetch(`${gateway.origin}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify(body)
    })

  /** Requests of each kind for some scrapes. */
  const load = async () => {
    const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }
    for (let round = 0; round < 8; round++) {
      for (const model of [
        "sandbox/bm25",
        "sandbox/bm25",
        "sandbox/unknown",
        "sandbox/status-502",
        "cohere/rerank-v3.5"
      ]) {
        await post("/rerank", { model, query: "tea", documents: ["green tea", "coffee"] })
      }
      if (round % 4 === 0) expect((await post("/videos", film)).status).toBe(202)
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  }

  const ask = async (path: string): Promise<string> => (await fetch(`${origin}/api/v1/${path}`)).text()

  /** The number of series that a query returns. */
  const seriesOf = async (expression: string): Promise<number> => {
    const answer = decodeResult(await ask(`query?query=${encodeURIComponent(expression)}`))
    if (answer.status === "error") throw new Error(`${expression}: ${answer.error}`)
    return answer.data.result.length
  }

  it("pass the checks of promtool", async () => {
    if (programs === undefined) return
    const { stdout } = await run(programs.promtool, ["check", "config", join(folder, "prometheus", "prometheus.yml")])
    expect(stdout).toContain("is valid prometheus config file syntax")
    await run(programs.promtool, ["check", "rules", join(deploy, "prometheus", "model-gateway.rules.yml")])
  })

  it("have alerts that fire and resolve as they say", async () => {
    if (programs === undefined) return
    const { stdout } = await run(programs.promtool, [
      "test",
      "rules",
      join(import.meta.dirname, "fixtures", "alerts.yml")
    ])
    expect(stdout).toContain("SUCCESS")
  })

  it("have dashboards of which every query returns data", async () => {
    const queries = readdirSync(join(deploy, "grafana"))
      .filter((file) => file.endsWith(".json"))
      .flatMap((file) =>
        Array.from(
          readFileSync(join(deploy, "grafana", file), "utf8").matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g),
          ([, text = ""]) => String(JSON.parse(text))
        )
      )
    expect(queries.length).toBeGreaterThan(50)
    const empty: Array<string> = []
    for (const query of queries) {
      const expression = query.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:job|instance)/g, ".*")
      if ((await seriesOf(expression)) === 0 && !withoutData.test(expression)) empty.push(expression)
    }
    expect(empty).toEqual([])
  })

  it("have rules that Prometheus evaluates, about series that the gateway has", async () => {
    const rules = decodeRules(await ask("rules")).data.groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(25)
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([])
    const empty: Array<string> = []
    for (const { name, query } of rules) {
      for (const [selector] of query.matchAll(
        /\b(?:up|\w*(?:model_gateway|process|nodejs)_[\w:]*|\w+:model_gateway_[\w:]*)(?:\{[^}]*\})?/g
      )) {
        if ((await seriesOf(selector)) === 0 && !withoutData.test(selector)) empty.push(`${name}: ${selector}`)
      }
    }
    expect(empty).toEqual([])
  })

  it("show an open circuit as an alert", async () => {
    const answer = decodeAlerts(await ask("alerts"))
    expect(answer.data.alerts.map(({ labels }) => labels)).toContainEqual(
      expect.objectContaining({ alertname: "ModelGatewayCircuitOpen", provider: "cohere", model: "cohere/rerank-v3.5" })
    )
  })
})
