import type { OpenRouter } from "@openrouter/sdk"
import type { ObservabilityDestination } from "@openrouter/sdk/models"
import { expect } from "vitest"
import { aText, type Entry, failureOf } from "./Entry.ts"

const create = async (client: OpenRouter, name = "Collector") => {
  const { data } = await client.observability.create({
    createObservabilityDestinationRequest: {
      type: "webhook",
      name,
      config: { url: "https://collector.example/events" },
      samplingRate: 0.5
    }
  })
  return data
}

/** The type of a destination that the client does not know has no id. */
const idOf = (destination: ObservabilityDestination): string => {
  if ("id" in destination) return destination.id
  throw new Error(`No id in ${JSON.stringify(destination)}`)
}

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "observability.create",
    expectation: "works",
    run: async ({ management }) => {
      const destination = await create(management.openrouter)
      expect(destination).toMatchObject({ id: aText, name: "Collector", type: "webhook", enabled: true })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "observability.list",
    expectation: "works",
    run: async ({ management }) => {
      const id = idOf(await create(management.openrouter))
      const ids: Array<string> = []
      for await (const { result } of await management.openrouter.observability.list({ limit: 100 })) {
        ids.push(...result.data.map(idOf))
      }
      expect(ids).toContain(id)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "observability.get",
    expectation: "works",
    run: async ({ management }) => {
      const id = idOf(await create(management.openrouter))
      const { data } = await management.openrouter.observability.get({ id })
      expect(data).toMatchObject({ id, name: "Collector", samplingRate: 0.5 })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "observability.update",
    expectation: "works",
    run: async ({ management }) => {
      const id = idOf(await create(management.openrouter))
      const { data } = await management.openrouter.observability.update({
        id,
        updateObservabilityDestinationRequest: { name: "Renamed", enabled: false }
      })
      expect(data).toMatchObject({ id, name: "Renamed", enabled: false })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "observability.delete",
    expectation: "works",
    run: async ({ management }) => {
      const id = idOf(await create(management.openrouter))
      expect(await management.openrouter.observability.delete({ id })).toEqual({ deleted: true })
      expect(await failureOf(management.openrouter.observability.get({ id }))).toMatchObject({ statusCode: 404 })
    }
  }
]
