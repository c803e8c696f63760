// The workflow is killed where a careless one would pay twice or lose its job.
import { freePort } from "@model-gateway/test-services/FreePort"
import { Schema } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { run } from "./Example.ts"
import { type Proxy, startProxy } from "./Proxy.ts"
import { secured } from "./WebServer.ts"

const Generations = Schema.Struct({
  data: Schema.Array(Schema.Struct({ video_id: Schema.String, status: Schema.String, cost: Schema.Number }))
})

let folder: string
let proxy: Proxy

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  proxy = await startProxy()
})

afterAll(async () => {
  await proxy?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** What the request log has about the order. */
const ledger = async (order: string) => {
  const { managementKey, origin } = inject("gateway")
  const response = await fetch(`${origin}/api/v1/generations?user=${order}`, {
    headers: { authorization: `Bearer ${managementKey}` }
  })
  return Schema.decodeUnknownSync(Generations)(await response.json()).data
}

it("a workflow that is killed before it knows its job, and while it waits, pays for one video", async () => {
  const order = "order-17"
  const begin = () =>
    run("workflow", ["src/main.ts", order, "Dawn"], {
      MODEL_GATEWAY_BASE_URL: proxy.baseUrl,
      WORKFLOW_DATABASE: join(folder, "workflow.db")
    })

  const submission = proxy.lose("POST", "silence")
  const first = begin()
  expect(await Promise.race([submission, first.prints(/Submitted/)])).toMatchObject({ status: 202 })
  await first.stop()

  const poll = proxy.lose("GET", "silence")
  const second = begin()
  const [, id = ""] = await second.prints(/Submitted (\w+)/)
  await poll
  await second.stop()

  const third = begin()
  await third.prints(new RegExp(`Completed ${id} for 0.01 credits`))

  const submissions = proxy.exchanges.filter(({ method }) => method === "POST")
  expect(submissions).toHaveLength(2)
  expect(submissions[1]).toMatchObject({
    headers: { "idempotency-key": submissions[0]?.headers["idempotency-key"] },
    responseHeaders: { "idempotent-replayed": "true" }
  })
  expect(await ledger(order)).toEqual([{ video_id: id, status: "completed", cost: 0.01 }])
})

it("a workflow that sleeps is woken by the webhook of its job, and asks for nothing before", async () => {
  const port = await freePort()
  const woken = run("workflow", ["src/woken.ts", "order-18", "Dusk"], {
    MODEL_GATEWAY_BASE_URL: proxy.baseUrl,
    WORKFLOW_DATABASE: join(folder, "woken.db"),
    WEBHOOK_SECRET: inject("gateway").webhookSecret,
    HOOKS_URL: `${await secured(`http://127.0.0.1:${port}`)}/hooks`,
    PORT: String(port)
  })
  const [, id = ""] = await woken.prints(/Completed (\w+) for 0.01 credits/)
  const reads = proxy.exchanges.filter(({ path }) => path.startsWith(`/api/v1/videos/${id}`))
  expect(reads.map(({ path }) => path)).toEqual([`/api/v1/videos/${id}`])
})
