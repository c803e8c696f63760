/**
 * What a video job costs if the catalog changes before the job ends: the price at its submission,
 * in the job, in the ledger and in the webhook.
 */
import * as Video from "@model-gateway/core/Video"
import { startDouble } from "@model-gateway/test-doubles/Double"
import { Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished, vi } from "vitest"
import { run } from "./Commands.ts"
import { firstKey, folder, serve, type Served } from "./Executable.ts"
import * as Receiver from "./Receiver.ts"

const builtIn = fileURLToPath(new URL("../../../packages/providers/src/catalog.json", import.meta.url))

const Catalog = Schema.fromJsonString(
  Schema.Struct({
    version: Schema.Int,
    models: Schema.Array(
      Schema.Struct({
        id: Schema.String,
        adapter: Schema.String,
        kind: Schema.String,
        name: Schema.String,
        source: Schema.JsonObject,
        parameters: Schema.optionalKey(Schema.JsonObject)
      })
    )
  })
)

const { models, version } = Schema.decodeUnknownSync(Catalog)(readFileSync(builtIn, "utf8"))

/** What the catalog says of a model, if it differs from the built-in one. */
interface Declared {
  readonly price: object
  readonly parameters?: object
}

/** Writes a catalog of these models. Returns the file. */
const write = (dataDir: string, declared: Readonly<Record<string, Declared>>): string => {
  const file = join(dataDir, "new.json")
  const entries = models.flatMap((model) => {
    const { parameters, price } = declared[model.id] ?? {}
    return price === undefined ? [] : [{ ...model, price, parameters: { ...model.parameters, ...parameters } }]
  })
  writeFileSync(file, JSON.stringify({ version, updated: "2027-01-01", models: entries }))
  return file
}

const priced = "runway/gen4.5"
const billed = "runway/veo3.1"
const overbilled = "runway/veo3.1_fast"
const removed = "runway/gen4_turbo"
const byTokens = "modelark/dreamina-seedance-2-0-260128"

const atSubmission = {
  [priced]: { price: { second: 0.12 } },
  [billed]: { price: { second: 0.4 }, parameters: { credit_price: 10_000 } },
  [overbilled]: { price: { second: 0.1 } },
  [removed]: { price: { video: 0.3 } },
  [byTokens]: { price: { video_tokens: 7 } }
}

/** Ten times as much, and one model less. */
const atCompletion = {
  [priced]: { price: { second: 1.2 } },
  [billed]: { price: { second: 4 }, parameters: { credit_price: 100_000 } },
  [overbilled]: { price: { second: 1 } },
  [byTokens]: { price: { video_tokens: 70 } }
}

/** How each upstream ends the job, and what it costs at the prices of its submission. */
const ends: Readonly<Record<string, { readonly says: object; readonly cost: number }>> = {
  [priced]: { says: {}, cost: 0.12 * 5 },
  // 150 of Runway's credits.
  [billed]: { says: { cost: { credits: 150 } }, cost: 1.5 },
  // 2,000 credits of 0.01 are 25 times the price at the submission, and less than 10 times the
  // later one.
  [overbilled]: { says: { cost: { credits: 2000 } }, cost: 0.1 * 8 },
  [removed]: { says: {}, cost: 0.3 },
  [byTokens]: { says: { usage: { completion_tokens: 100_000 } }, cost: 0.7 }
}

const still = { type: "image_url", image_url: { url: "https://example.com/a.png" } } as const

const requests: ReadonlyArray<Video.Request> = Object.keys(ends).map((model) => ({
  model,
  prompt: "a harbor",
  ...(model === removed ? { frame_images: [{ ...still, frame_type: "first_frame" }] } : {})
}))

/** Runway and ModelArk at one address. No job ends before `end`. */
const startUpstream = async () => {
  const modelOf = new Map<string, string>()
  let isOver = false
  const double = await startDouble({
    answerTo: ({ headers, method, text, url }) => {
      const id = url.split("/").at(-1) ?? ""
      if (id.endsWith(".mp4")) return { headers: { "content-type": "video/mp4" }, body: "a video" }
      if (method === "POST") {
        const body: unknown = JSON.parse(text)
        const known = Object.keys(ends).find((model) => text.includes(JSON.stringify(model.replace(/^\w+\//, ""))))
        if (known === undefined) return { status: 400, body }
        const job = `job-${modelOf.size}`
        modelOf.set(job, known)
        return { body: { id: job } }
      }
      const isRunway = url.startsWith("/v1/tasks/")
      if (!isOver) return { body: { id, status: isRunway ? "RUNNING" : "running" } }
      const link = `http://${headers["host"]}/${id}.mp4`
      const done = isRunway
        ? { status: "SUCCEEDED", output: [link] }
        : { status: "succeeded", content: { video_url: link } }
      return { body: { id, ...done, ...ends[modelOf.get(id) ?? ""]?.says } }
    }
  })
  onTestFinished(() => double.close())
  return { url: double.url, accepted: () => modelOf.size, end: () => void (isOver = true) }
}

const asJob = Schema.decodeUnknownSync(Video.Job)
const asSecret = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Struct({ secret: Schema.String }) }))

const connect = ({ origin }: Served, key: string) => ({
  ask: async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
    expect(response.ok, await response.clone().text()).toBe(true)
    return response.json()
  }
})

it.each(["SIGHUP", "restart"])(
  "a video job costs what its submission promised, if the catalog changes meanwhile (%s)",
  async (way) => {
    const upstream = await startUpstream()
    const receiver = await Receiver.startReceiver()
    const dataDir = folder()
    const environment = {
      ...Receiver.environment,
      RUNWAYML_API_SECRET: "secret",
      RUNWAYML_BASE_URL: upstream.url,
      ARK_API_KEY: "secret",
      ARK_BASE_URL: upstream.url
    }
    const update = async (declared: Readonly<Record<string, Declared>>) => {
      const { code, stderr } = await run([
        "models",
        "update",
        "--data-dir",
        dataDir,
        "--from",
        write(dataDir, declared)
      ])
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    }
    const start = () => serve(dataDir, ["--initial-credits", "100"], environment)

    await update(atSubmission)
    const first = await start()
    const [key, management] = [await firstKey(first), (await first.prints(/management key +(mg_mk_\w+)/))[1] ?? ""]
    const { ask: manage } = connect(first, management)
    receiver.secret = asSecret(await manage("/workspaces/default/webhook-secret/rotate", {})).data.secret
    const submitted = []
    for (const request of requests) {
      submitted.push(asJob(await connect(first, key).ask("/videos", { ...request, callback_url: receiver.url })))
    }
    await vi.waitFor(() => expect(upstream.accepted()).toBe(requests.length), 10_000)

    await update(atCompletion)
    let gateway = first
    if (way === "SIGHUP") {
      process.kill(gateway.pid, "SIGHUP")
      await vi.waitFor(() => expect(gateway.logged()).toContain("The settings were read again"))
    } else {
      gateway.signal("SIGTERM")
      expect((await gateway.ended).code).toBe(0)
      gateway = await start()
    }
    upstream.end()

    const { ask } = connect(gateway, key)
    const costs: Record<string, object> = {}
    const expected: Record<string, object> = {}
    for (const { id, model } of submitted) {
      let job = asJob(await ask(`/videos/${id}?wait=30`))
      while (!Video.isFinal(job.status)) job = asJob(await ask(`/videos/${id}?wait=30`))
      const receipt = await vi.waitFor(() => receiver.received.get(id)?.[0] ?? expect.fail("no webhook"), 10_000)
      const database = new DatabaseSync(join(dataDir, "gateway.db"), { readOnly: true })
      const row = database
        .prepare("SELECT cost_micro, reserved_micro FROM usage_ledger WHERE id = ?")
        .get(job.generation_id ?? "")
      database.close()
      const cost = ends[model ?? ""]?.cost ?? 0
      costs[model ?? ""] = {
        status: job.status,
        job: job.usage?.cost,
        webhook: receipt.cost,
        ledger: row?.["cost_micro"]
      }
      expected[model ?? ""] = { status: "completed", job: cost, webhook: cost, ledger: Math.round(cost * 1_000_000) }
    }
    expect(costs).toEqual(expected)
  },
  60_000
)
