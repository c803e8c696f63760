import { expect } from "vitest"
import type { Entry } from "./Entry.ts"

const client = "@openrouter/sdk"

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
  }
]
