import { expect } from "vitest"
import { type Entry, failureOf } from "./Entry.ts"

const client = "@openrouter/sdk"

let created = 0

/** A slug that no other entry uses. */
const newSlug = () => `compatibility-${++created}`

const isoTime = /^\d{4}-\d{2}-\d{2}T.*Z$/

export const entries: ReadonlyArray<Entry> = [
  {
    client,
    call: "workspaces.create",
    expectation: "works",
    run: async ({ management }) => {
      const slug = newSlug()
      const { data } = await management.openrouter.workspaces.create({
        createWorkspaceRequest: { name: "Search", slug, description: "d", isObservabilityBroadcastEnabled: true }
      })
      expect(data).toMatchObject({
        name: "Search",
        slug,
        description: "d",
        createdBy: null,
        defaultGuardrailId: "",
        defaultTextModel: null,
        ioLoggingApiKeyIds: null,
        isObservabilityIoLoggingEnabled: false
      })
      expect(data.id).toMatch(/^[0-9a-f-]{36}$/)
      expect(data.createdAt).toMatch(isoTime)
    }
  },
  {
    client,
    call: "workspaces.create: slug taken",
    expectation: "works",
    run: async ({ management }) => {
      const call = management.openrouter.workspaces.create({
        createWorkspaceRequest: { name: "Search", slug: "default" }
      })
      expect(await failureOf(call)).toMatchObject({ name: "BadRequestResponseError", statusCode: 400 })
    }
  },
  {
    client,
    call: "workspaces.create: `defaultProviderSort`",
    expectation: { differs: "400: a workspace has no order of providers; requests set `provider.sort`" },
    run: async ({ management }) => {
      const call = management.openrouter.workspaces.create({
        createWorkspaceRequest: { name: "Search", slug: newSlug(), defaultProviderSort: "price" }
      })
      const failure = await failureOf(call)
      expect(failure).toMatchObject({ name: "BadRequestResponseError", statusCode: 400 })
      expect(String(failure)).toContain("default_provider_sort")
    }
  },
  {
    client,
    call: "workspaces.create: ordinary key",
    expectation: "works",
    run: async ({ clients }) => {
      const call = clients.openrouter.workspaces.create({ createWorkspaceRequest: { name: "n", slug: newSlug() } })
      expect(await failureOf(call)).toMatchObject({ name: "ForbiddenResponseError", statusCode: 403 })
    }
  },
  {
    client,
    call: "workspaces.list",
    expectation: "works",
    run: async ({ management }) => {
      const { workspaces } = management.openrouter
      const slugs = [newSlug(), newSlug()]
      for (const slug of slugs) await workspaces.create({ createWorkspaceRequest: { name: slug, slug } })
      const listed: Array<string> = []
      let total = 0
      for await (const { result } of await workspaces.list({ limit: 1 })) {
        expect(result.data.length).toBeLessThanOrEqual(1)
        total = result.totalCount
        listed.push(...result.data.map(({ slug }) => slug))
      }
      expect(listed[0]).toBe("default")
      expect(listed).toEqual(expect.arrayContaining(slugs))
      expect(listed).toHaveLength(total)
    }
  },
  {
    client,
    call: "workspaces.get",
    expectation: "works",
    run: async ({ management }) => {
      const bySlug = await management.openrouter.workspaces.get({ id: "default" })
      const byId = await management.openrouter.workspaces.get({ id: bySlug.data.id })
      expect(byId).toEqual(bySlug)
      expect(bySlug.data.slug).toBe("default")
    }
  },
  {
    client,
    call: "workspaces.get: no such workspace",
    expectation: "works",
    run: async ({ management }) => {
      const call = management.openrouter.workspaces.get({ id: "no-such-workspace" })
      expect(await failureOf(call)).toMatchObject({ name: "NotFoundResponseError", statusCode: 404 })
    }
  },
  {
    client,
    call: "workspaces.update",
    expectation: "works",
    run: async ({ management }) => {
      const slug = newSlug()
      const { workspaces } = management.openrouter
      await workspaces.create({ createWorkspaceRequest: { name: "Search", slug, description: "d" } })
      const { data } = await workspaces.update({ id: slug, updateWorkspaceRequest: { name: "Found" } })
      expect(data).toMatchObject({ name: "Found", slug, description: "d" })
    }
  },
  {
    client,
    call: "workspaces.delete",
    expectation: "works",
    run: async ({ management }) => {
      const slug = newSlug()
      const { workspaces } = management.openrouter
      await workspaces.create({ createWorkspaceRequest: { name: "Search", slug } })
      expect(await workspaces.delete({ id: slug })).toEqual({ deleted: true })
      expect(await failureOf(workspaces.get({ id: slug }))).toMatchObject({ statusCode: 404 })
    }
  },
  {
    client,
    call: "workspaces.delete: the default workspace",
    expectation: { differs: "400 even with `confirmDefaultWorkspaceDeletion`: it takes the credits of deleted ones" },
    run: async ({ management }) => {
      const call = management.openrouter.workspaces.delete({ id: "default", confirmDefaultWorkspaceDeletion: true })
      expect(await failureOf(call)).toMatchObject({ name: "BadRequestResponseError", statusCode: 400 })
    }
  }
]
