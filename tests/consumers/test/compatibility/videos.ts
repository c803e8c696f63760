import type { OpenRouter } from "@openrouter/sdk"
import { buffer } from "node:stream/consumers"
import { expect } from "vitest"
import { aText, type Entry, failureOf } from "./Entry.ts"
import type { CompatibleGateway } from "./Gateways.ts"

const request = {
  model: "sandbox/title-card",
  prompt: "Dawn over the harbor",
  duration: 1,
  size: "320x180"
} as const

const submit = (client: OpenRouter) =>
  client.videoGeneration.generate({ videoGenerationRequest: { ...request, seed: 1 } })

/** Rendered once per gateway. */
const rendered = new WeakMap<CompatibleGateway, string>()

/** The id of a completed job. */
const completed = async (gateway: CompatibleGateway): Promise<string> => {
  const known = rendered.get(gateway)
  if (known !== undefined) return known
  const client = gateway.clients.openrouter
  const { id } = await submit(client)
  await expect.poll(async () => (await client.videoGeneration.getGeneration({ jobId: id })).status).toBe("completed")
  rendered.set(gateway, id)
  return id
}

const isMp4 = (bytes: Uint8Array) => Buffer.from(bytes.subarray(4, 8)).toString() === "ftyp"

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "videoGeneration.generate",
    expectation: "works",
    run: async ({ clients }) => {
      const job = await submit(clients.openrouter)
      expect(job).toEqual({ id: aText, pollingUrl: `/api/v1/videos/${job.id}`, status: "pending" })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "videoGeneration.getGeneration",
    expectation: "works",
    run: async (gateway) => {
      const id = await completed(gateway)
      const job = await gateway.clients.openrouter.videoGeneration.getGeneration({ jobId: id })
      expect(job).toEqual({
        id,
        pollingUrl: `/api/v1/videos/${id}`,
        status: "completed",
        generationId: aText,
        unsignedUrls: [`/api/v1/videos/${id}/content?index=0`],
        usage: { cost: 0.01, isByok: false }
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "videoGeneration.getGeneration: an unknown job",
    expectation: "works",
    run: async ({ clients }) => {
      const error = await failureOf(clients.openrouter.videoGeneration.getGeneration({ jobId: "unknown" }))
      expect(error).toMatchObject({ name: "NotFoundResponseError", error: { code: 404 } })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "videoGeneration.getVideoContent",
    expectation: "works",
    run: async (gateway) => {
      const id = await completed(gateway)
      const content = await gateway.clients.openrouter.videoGeneration.getVideoContent({ jobId: id, index: 0 })
      expect(isMp4(await buffer(content))).toBe(true)
    }
  }
]
