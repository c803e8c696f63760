/** The `user` of a request through the executable: it is in the request log, and at no provider. */
import * as Generations from "@model-gateway/core/Generations"
import { Schema } from "effect"
import { expect, it, onTestFinished } from "vitest"
import { startCohereDouble } from "../../../packages/providers/test/support/CohereDouble.mjs"
import { firstKey, folder, serve } from "./Executable.ts"
import { fileOf } from "./Loaded.ts"

const key = "co-secret-0123456789"

const asList = Schema.decodeUnknownSync(Generations.ListResponse)
const asOne = Schema.decodeUnknownSync(Generations.Response)

it("keeps the end user of a request in the private log, and from providers [spec L19 L20]", async () => {
  const double = await startCohereDouble({ keys: [key] })
  onTestFinished(() => double.close())
  const file = fileOf(
    JSON.stringify({
      upstreams: { cohere: { baseUrl: double.url, apiKey: { env: "COHERE" } } },
      models: {
        "acme/rerank": {
          offers: [{ upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } }]
        }
      }
    })
  )
  const gateway = await serve(folder(), ["--config", file, "--log-level", "Debug", "--log-format", "json"], {
    COHERE: key
  })
  const apiKey = await firstKey(gateway)
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  const ask = (path: string, using: string, body?: unknown) =>
    fetch(`${gateway.origin}/api/v1${path}`, {
      headers: { authorization: `Bearer ${using}`, "content-type": "application/json", connection: "close" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
  const user = "customer-17"
  const rerank = { model: "acme/rerank", query: "tea", documents: ["coffee", "tea"] }
  expect((await ask("/rerank", apiKey, { ...rerank, user })).status).toBe(200)
  expect((await ask("/rerank", apiKey, rerank)).status).toBe(200)
  const found = asList(await (await ask(`/generations?user=${user}`, managementKey)).json()).data
  expect(found.map(({ external_user, operation }) => [operation, external_user])).toEqual([["rerank", user]])
  for (const { id } of found) {
    const { data } = asOne(await (await ask(`/generation?id=${id}`, apiKey)).json())
    expect(data.external_user).toBe(user)
  }
  expect(asList(await (await ask("/generations?user=nobody", managementKey)).json()).data).toEqual([])

  expect(double.state.requests.length).toBe(2)
  expect(JSON.stringify(double.state.requests)).not.toContain(user)
  gateway.signal("SIGTERM")
  const { stderr } = await gateway.ended
  for (const { id } of found) {
    const line = stderr.split("\n").find((each) => each.includes("A request names its end user") && each.includes(id))
    expect(line).toBeDefined()
  }
  expect(stderr).toContain(`"external_user":"${user}"`)
}, 180_000)
