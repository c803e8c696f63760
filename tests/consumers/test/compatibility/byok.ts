import type { OpenRouter } from "@openrouter/sdk"
import { expect } from "vitest"
import { aText, type Entry, failureOf } from "./Entry.ts"

/** Obviously not a key of anybody. */
const secret = "not-a-real-key-0123456789"

const create = async (client: OpenRouter, name = "Ours") => {
  const { data } = await client.byok.create({ createBYOKKeyRequest: { provider: "cohere", key: secret, name } })
  return data
}

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "byok.create",
    expectation: "works",
    run: async ({ management }) => {
      const key = await create(management.openrouter)
      expect(key).toMatchObject({ id: aText, provider: "cohere", name: "Ours", disabled: false, label: aText })
      expect(JSON.stringify(key)).not.toContain(secret)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "byok.list",
    expectation: "works",
    run: async ({ management }) => {
      const { id } = await create(management.openrouter)
      const ids: Array<string> = []
      for await (const { result } of await management.openrouter.byok.list({ limit: 100 })) {
        ids.push(...result.data.map((key) => key.id))
      }
      expect(ids).toContain(id)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "byok.get",
    expectation: "works",
    run: async ({ management }) => {
      const { id } = await create(management.openrouter)
      const { data } = await management.openrouter.byok.get({ id })
      expect(data).toMatchObject({ id, provider: "cohere", allowedModels: null, isFallback: false })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "byok.update",
    expectation: "works",
    run: async ({ management }) => {
      const { id } = await create(management.openrouter)
      const { data } = await management.openrouter.byok.update({
        id,
        updateBYOKKeyRequest: { name: "Renamed", disabled: true }
      })
      expect(data).toMatchObject({ id, name: "Renamed", disabled: true })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "byok.delete",
    expectation: "works",
    run: async ({ management }) => {
      const { id } = await create(management.openrouter)
      expect(await management.openrouter.byok.delete({ id })).toEqual({ deleted: true })
      expect(await failureOf(management.openrouter.byok.get({ id }))).toMatchObject({ statusCode: 404 })
    }
  }
]
