import * as OpenRouterErrors from "@openrouter/sdk/models/errors"
import { expect } from "vitest"
import { type Entry, failureOf } from "./Entry.ts"
import type { CompatibleGateway } from "./Gateways.ts"

const client = "@openrouter/sdk"

const nobody = "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd"

const guardrailsOf = ({ management }: CompatibleGateway) => management.openrouter.guardrails

/** A new guardrail, with all that this gateway enforces. */
const created = async (gateway: CompatibleGateway, name = "Interns") =>
  (
    await guardrailsOf(gateway).create({
      createGuardrailRequest: {
        name,
        description: "What interns may use",
        limitUsd: 2.5,
        resetInterval: "daily",
        allowedModels: ["sandbox/*"],
        ignoredModels: ["sandbox/title-card"],
        ignoredProviders: ["elsewhere"]
      }
    })
  ).data

/** The hash of the key of the clients. */
const hashOf = async ({ key }: CompatibleGateway) =>
  Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(key))).toString("hex")

/** The items of all pages. */
const all = async <Item>(pages: AsyncIterable<{ readonly result: { readonly data: ReadonlyArray<Item> } }>) => {
  const items: Array<Item> = []
  for await (const { result } of pages) items.push(...result.data)
  return items
}

const once = { retries: { strategy: "none" } } as const

export const entries: ReadonlyArray<Entry> = [
  {
    client,
    call: "guardrails.create",
    expectation: "works",
    run: async (gateway) => {
      const guardrail = await created(gateway)
      expect(guardrail).toMatchObject({
        name: "Interns",
        limitUsd: 2.5,
        resetInterval: "daily",
        includeByokInBudgets: false,
        allowedModels: ["sandbox/*"],
        ignoredModels: ["sandbox/title-card"],
        allowedProviders: null,
        ignoredProviders: ["elsewhere"],
        enforceZdr: null,
        contentFilters: null
      })
      expect(guardrail.workspaceId).toMatch(/^[0-9a-f-]{36}$/)
    }
  },
  {
    client,
    call: "guardrails.create: a field that cannot be enforced",
    expectation: { differs: "400 for content filters, data regions, zero data retention and training" },
    run: async (gateway) => {
      const error = await failureOf(
        guardrailsOf(gateway).create({ createGuardrailRequest: { name: "zdr", enforceZdrOpenai: true } })
      )
      expect(error).toBeInstanceOf(OpenRouterErrors.BadRequestResponseError)
      expect(String(error)).toContain("enforce_zdr_openai")
    }
  },
  {
    client,
    call: "guardrails.get",
    expectation: "works",
    run: async (gateway) => {
      const guardrail = await created(gateway)
      expect((await guardrailsOf(gateway).get({ id: guardrail.id })).data).toEqual(guardrail)
    }
  },
  {
    client,
    call: "guardrails.get: unknown",
    expectation: "works",
    run: async (gateway) => {
      const error = await failureOf(guardrailsOf(gateway).get({ id: nobody }))
      expect(error).toBeInstanceOf(OpenRouterErrors.NotFoundResponseError)
    }
  },
  {
    client,
    call: "guardrails.list",
    expectation: "works",
    run: async (gateway) => {
      const { id, workspaceId } = await created(gateway)
      await created(gateway)
      const guardrails = guardrailsOf(gateway)
      const first = await guardrails.list({ limit: 1, ...(workspaceId === null ? {} : { workspaceId }) })
      expect(first.result.data).toHaveLength(1)
      expect(first.result.totalCount).toBeGreaterThan(1)
      const every = await all(await guardrails.list({ limit: 1 }))
      expect(every).toHaveLength(first.result.totalCount)
      expect(every.map((guardrail) => guardrail.id)).toContain(id)
    }
  },
  {
    client,
    call: "guardrails.list: an ordinary key",
    expectation: "works",
    run: async ({ clients }) => {
      const error = await failureOf(clients.openrouter.guardrails.list({}, once))
      expect(error).toMatchObject({ statusCode: 403 })
    }
  },
  {
    client,
    call: "guardrails.update",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const updateGuardrailRequest = { name: "Seniors", limitUsd: null, allowedProviders: ["sandbox"] }
      expect((await guardrailsOf(gateway).update({ id, updateGuardrailRequest })).data).toMatchObject({
        name: "Seniors",
        limitUsd: null,
        allowedProviders: ["sandbox"],
        ignoredModels: ["sandbox/title-card"]
      })
    }
  },
  {
    client,
    call: "guardrails.bulkAssignKeys",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const keyHashes = [await hashOf(gateway), "unknown"]
      const guardrails = guardrailsOf(gateway)
      expect(await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes } })).toEqual({
        assignedCount: 1
      })
      const { openrouter } = gateway.clients
      const request = { model: "sandbox/bm25", query: "pears", documents: ["pears"] }
      expect(await openrouter.rerank.rerank({ requestBody: request })).toMatchObject({ model: "sandbox/bm25" })
      await guardrails.update({ id, updateGuardrailRequest: { ignoredModels: ["sandbox/bm25"] } })
      const error = await failureOf(openrouter.rerank.rerank({ requestBody: request }, once))
      expect(error).toBeInstanceOf(OpenRouterErrors.ForbiddenResponseError)
      expect(await guardrails.delete({ id })).toEqual({ deleted: true })
    }
  },
  {
    client,
    call: "guardrails.listGuardrailKeyAssignments",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const keyHash = await hashOf(gateway)
      const guardrails = guardrailsOf(gateway)
      await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes: [keyHash] } })
      const { result } = await guardrails.listGuardrailKeyAssignments({ id })
      expect(result).toMatchObject({ totalCount: 1, data: [{ keyHash, guardrailId: id, assignedBy: null }] })
      await guardrails.delete({ id })
    }
  },
  {
    client,
    call: "guardrails.listKeyAssignments",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const keyHash = await hashOf(gateway)
      const guardrails = guardrailsOf(gateway)
      await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes: [keyHash] } })
      const assigned = await all(await guardrails.listKeyAssignments())
      expect(assigned.filter((assignment) => assignment.keyHash === keyHash)).toMatchObject([{ guardrailId: id }])
      await guardrails.delete({ id })
    }
  },
  {
    client,
    call: "guardrails.bulkUnassignKeys",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const keyHashes = [await hashOf(gateway)]
      const guardrails = guardrailsOf(gateway)
      await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes } })
      const bulkUnassignKeysRequest = { keyHashes: [...keyHashes, "unknown"] }
      expect(await guardrails.bulkUnassignKeys({ id, bulkUnassignKeysRequest })).toEqual({ unassignedCount: 1 })
      expect((await guardrails.listGuardrailKeyAssignments({ id })).result).toEqual({ data: [], totalCount: 0 })
    }
  },
  {
    client,
    call: "guardrails.delete",
    expectation: "works",
    run: async (gateway) => {
      const { id } = await created(gateway)
      const guardrails = guardrailsOf(gateway)
      expect(await guardrails.delete({ id })).toEqual({ deleted: true })
      expect(await failureOf(guardrails.delete({ id }))).toBeInstanceOf(OpenRouterErrors.NotFoundResponseError)
    }
  }
]
