/** Images by link as documents of a rerank, through the executable. */
import * as Models from "@model-gateway/core/Models"
import * as Rerank from "@model-gateway/core/Rerank"
import { Schema } from "effect"
import { createServer } from "node:https"
import { describe, expect, it } from "vitest"
import { firstKey, folder, serve } from "./Executable.ts"
import { listen } from "./Listen.ts"
import { certificate, environment } from "./Receiver.ts"

const asRanking = Schema.decodeUnknownSync(Rerank.Response)
const asList = Schema.decodeUnknownSync(Models.ListResponse)
const asFailure = Schema.decodeUnknownSync(
  Schema.Struct({
    error: Schema.Struct({
      metadata: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
    })
  })
)

/** A red pixel. */
const red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

const start = async (environment: Readonly<Record<string, string>> = {}) => {
  const requests: Array<string | undefined> = []
  const host = createServer(certificate(), ({ url }, response) => {
    requests.push(url)
    response.end(Buffer.from(url === "/red.png" ? red : "", "base64"))
  })
  const link = `https://localhost:${await listen(host)}`
  const gateway = await serve(folder(), [], environment)
  const authorization = `Bearer ${await firstKey(gateway)}`
  const ask = async (path: string, body?: object) => {
    const response = await fetch(`${gateway.origin}/api/v1${path}`, {
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
    return { status: response.status, body: await response.json() }
  }
  const rank = (...images: ReadonlyArray<string>) =>
    ask("/rerank", { model: "sandbox/colors", query: "red", documents: images.map((image) => ({ image })) })
  return { ask, link, rank, requests }
}

describe("images by link at sandbox/colors", { timeout: 60_000 }, () => {
  it("are fetched and ranked [spec L4]", async () => {
    const { ask, link, rank, requests } = await start(environment)
    const answer = await rank(`data:image/png;base64,${red}`, `${link}/red.png`)
    expect(answer.status).toBe(200)
    const { results } = asRanking(answer.body)
    expect(results.map(({ index, relevance_score }) => [index, relevance_score])).toEqual([
      [0, 1],
      [1, 1]
    ])
    expect(results[1]?.document).toEqual({ image: `${link}/red.png` })
    expect(requests).toEqual(["/red.png"])
    const { data } = asList((await ask("/models")).body)
    expect(data.find(({ id }) => id === "sandbox/colors")?.architecture.input_modalities).toEqual(["text", "image"])
    const refused = await rank(`${link}/red.png`, `${link}/blue.png`)
    expect(refused.status).toBe(400)
    expect(asFailure(refused.body).error.metadata.issues).toEqual([
      { path: "documents.1.image", message: "send a PNG or a JPEG" }
    ])
  })

  it("are refused, without a connection, if their host is not public", async () => {
    const { link, rank, requests } = await start()
    for (const host of [link.replace("localhost", "127.0.0.1"), "https://169.254.169.254", "https://[::1]"]) {
      const { body, status } = await rank(`${host}/red.png`)
      expect([host, status, asFailure(body).error.metadata.issues]).toEqual([
        host,
        400,
        [{ path: "documents.0.image", message: "the link leads to a host that is not public" }]
      ])
    }
    expect(requests).toEqual([])
  })
})
