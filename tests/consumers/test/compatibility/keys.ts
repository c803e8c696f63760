import { expect } from "vitest"
import { type Entry, failureOf } from "./Entry.ts"
import type { CompatibleGateway } from "./Gateways.ts"

const client = "@openrouter/sdk"

const unknown = "0".repeat(64)

const create = ({ management }: CompatibleGateway, name: string) =>
  management.openrouter.apiKeys.create({ requestBody: { name } })

/** What a failed call is: the class of the error, its status and the envelope's message. */
const failure = async (call: Promise<unknown>) => {
  const error = await failureOf(call)
  if (!(error instanceof Error) || !("statusCode" in error) || !("error" in error)) throw error
  return { name: error.name, statusCode: error.statusCode, error: error.error }
}

export const entries: ReadonlyArray<Entry> = [
  {
    client,
    call: "apiKeys.getCurrentKeyMetadata",
    expectation: "works",
    run: async ({ clients, management }) => {
      const { data } = await clients.openrouter.apiKeys.getCurrentKeyMetadata()
      expect(data).toMatchObject({
        isManagementKey: false,
        isProvisioningKey: false,
        allowedDataRegions: [],
        limit: null,
        expiresAt: null,
        freeModelDailyRequests: { limit: 200 }
      })
      expect(data.label).toMatch(/^mg_sk_…/)
      for (const id of [data.workspaceId, data.organizationId]) expect(id).toMatch(/^[0-9a-f-]{36}$/)
      const manager = await management.openrouter.apiKeys.getCurrentKeyMetadata()
      expect(manager.data).toMatchObject({ isManagementKey: true, organizationId: data.organizationId })
    }
  },
  {
    client,
    call: "apiKeys.create",
    expectation: "works",
    run: async ({ clientsWith, management }) => {
      const expiresAt = new Date("2999-01-01T00:00:00Z")
      const { data, key } = await management.openrouter.apiKeys.create({
        requestBody: {
          name: "partner",
          limit: 2.5,
          limitReset: "weekly",
          includeByokInLimit: true,
          expiresAt,
          creatorUserId: "user_7",
          external: { user: "customer-17" }
        }
      })
      expect(key).toMatch(/^mg_sk_[0-9A-Za-z]{38}$/)
      expect(data).toMatchObject({
        name: "partner",
        label: `mg_sk_…${key.slice(-3)}`,
        disabled: false,
        limit: 2.5,
        limitRemaining: 2.5,
        limitReset: "weekly",
        includeByokInLimit: true,
        expiresAt,
        creatorUserId: "user_7",
        externalUser: "customer-17",
        usage: 0,
        usageMonthly: 0,
        byokUsage: 0
      })
      const own = await clientsWith(key).openrouter.apiKeys.getCurrentKeyMetadata()
      expect(own.data).toMatchObject({ label: data.label, limit: 2.5, workspaceId: data.workspaceId })
    }
  },
  {
    client,
    call: "apiKeys.create: a key of the caller's own",
    expectation: { differs: "400: the service makes the text of every key" },
    run: async ({ management }) => {
      const external = { user: "customer-17", apiKey: "x".repeat(40) }
      expect(
        await failure(management.openrouter.apiKeys.create({ requestBody: { name: "own", external } }))
      ).toMatchObject({ name: "BadRequestResponseError", statusCode: 400, error: { code: 400 } })
    }
  },
  {
    client,
    call: "apiKeys.create: a limit below 0",
    expectation: "works",
    run: async ({ management }) => {
      expect(
        await failure(management.openrouter.apiKeys.create({ requestBody: { name: "n", limit: -1 } }))
      ).toMatchObject({ name: "BadRequestResponseError", statusCode: 400 })
    }
  },
  {
    client,
    call: "apiKeys.create: an ordinary key",
    expectation: "works",
    run: async ({ clients }) => {
      expect(await failure(clients.openrouter.apiKeys.create({ requestBody: { name: "n" } }))).toMatchObject({
        name: "ForbiddenResponseError",
        statusCode: 403,
        error: { message: "only management keys can perform this operation" }
      })
    }
  },
  {
    client,
    call: "apiKeys.list",
    expectation: "works",
    run: async (gateway) => {
      const { apiKeys } = gateway.management.openrouter
      const { data: first } = await create(gateway, "first")
      const { data: second } = await create(gateway, "second")
      await apiKeys.update({ hash: second.hash, requestBody: { disabled: true } })
      const hashes = async (request: Parameters<typeof apiKeys.list>[0]) =>
        (await apiKeys.list(request)).data.map(({ hash }) => hash)
      expect((await hashes({}))[0]).toBe(first.hash)
      expect((await hashes({ includeDisabled: true })).slice(0, 2)).toEqual([second.hash, first.hash])
      expect((await hashes({ includeDisabled: true, offset: 1 }))[0]).toBe(first.hash)
      expect((await hashes({ workspaceId: first.workspaceId, offset: null }))[0]).toBe(first.hash)
      expect(await hashes({ offset: 10_000 })).toEqual([])
    }
  },
  {
    client,
    call: "apiKeys.get",
    expectation: "works",
    run: async (gateway) => {
      const { data } = await create(gateway, "read")
      expect((await gateway.management.openrouter.apiKeys.get({ hash: data.hash })).data).toEqual(data)
    }
  },
  {
    client,
    call: "apiKeys.get: no such key",
    expectation: "works",
    run: async ({ management }) => {
      expect(await failure(management.openrouter.apiKeys.get({ hash: unknown }))).toMatchObject({
        name: "NotFoundResponseError",
        statusCode: 404
      })
    }
  },
  {
    client,
    call: "apiKeys.update",
    expectation: "works",
    run: async (gateway) => {
      const { apiKeys } = gateway.management.openrouter
      const { data } = await create(gateway, "before")
      const changed = await apiKeys.update({
        hash: data.hash,
        requestBody: { name: "after", limit: 1, limitReset: "daily", includeByokInLimit: true, disabled: true }
      })
      expect(changed.data).toMatchObject({ name: "after", limit: 1, limitReset: "daily", disabled: true })
    }
  },
  {
    client,
    call: "apiKeys.delete",
    expectation: "works",
    run: async (gateway) => {
      const { apiKeys } = gateway.management.openrouter
      const { data, key } = await create(gateway, "deleted")
      expect(await apiKeys.delete({ hash: data.hash })).toEqual({ deleted: true })
      expect(await failure(apiKeys.delete({ hash: data.hash }))).toMatchObject({ statusCode: 404 })
      expect(await failure(gateway.clientsWith(key).openrouter.apiKeys.getCurrentKeyMetadata())).toMatchObject({
        name: "UnauthorizedResponseError",
        statusCode: 401
      })
    }
  },
  {
    client,
    call: "credits.getCredits",
    expectation: "works",
    run: async ({ clients, management }) => {
      const { data: before } = await management.openrouter.credits.getCredits()
      expect(before.totalCredits).toBeGreaterThanOrEqual(10)
      const documents = ["Billing", "Reset a forgotten password"]
      await clients.openrouter.rerank.rerank({ requestBody: { model: "sandbox/bm25", query: "reset", documents } })
      const { data: after } = await management.openrouter.credits.getCredits()
      expect(after.totalCredits).toBe(before.totalCredits)
      expect(after.totalUsage - before.totalUsage).toBeGreaterThan(0.0009)
    }
  },
  {
    client,
    call: "credits.getCredits: an ordinary key",
    expectation: "works",
    run: async ({ clients }) => {
      expect(await failure(clients.openrouter.credits.getCredits())).toMatchObject({
        name: "ForbiddenResponseError",
        statusCode: 403
      })
    }
  }
]
