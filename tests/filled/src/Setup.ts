/** The first day of a filled gateway: workspaces, keys, guardrails, provider keys. */
import * as Api from "./Api.ts"
import type { Key, Known } from "./Known.ts"
import { day } from "./Requests.ts"

/** Calls a management operation. */
export type Manage = (method: string, path: string, body?: object) => Promise<unknown>

interface Fields {
  readonly [field: string]: unknown
}

/** Creates something, and returns its id. */
export const created = async (manage: Manage, path: string, fields: Fields): Promise<string> =>
  Api.text(await manage("POST", path, fields), "data", "id")

export const addCredits = (manage: Manage, workspace: string, amount: number, note: string): Promise<unknown> =>
  manage("POST", `/workspaces/${workspace}/credits`, { amount: Number(amount.toFixed(6)), note })

/** Keys beside those of the first start: 3 management keys, and these. 40 in all. */
const names = (
  "search-api podcast-pipeline web-frontend call-notes mobile-ios video-ads mobile-android catalog-indexer support-chat " +
  "meeting-notes batch-nightly storyboard partner-northwind partner-contoso search-staging faq-ranker voice-mail " +
  "newsroom archive-import data-science legal-discovery recruiting intern-1 intern-2 intern-3 intern-4 analytics " +
  "onboarding docs-search qa-bot translations load-test old-mobile demo sandbox-play"
).split(" ")

const keyFields = (name: string, index: number, filledAt: number): Fields => ({
  name,
  creator_user_id: index % 5 === 0 ? "user-anna" : "user-ben",
  ...(index % 3 === 0 ? { limit: 40, limit_reset: "monthly" } : {}),
  ...(index % 7 === 1 ? { limit: 8, limit_reset: "daily" } : {}),
  ...(name.startsWith("partner-") ? { external: { user: name.slice("partner-".length) } } : {}),
  ...(name === "demo" ? { expires_at: new Date(filledAt + day).toISOString() } : {}),
  ...(name === "sandbox-play" ? { is_free_tier: true } : {})
})

export interface Options {
  readonly manage: Manage
  /** The ordinary key of the first start. */
  readonly firstKey: string
  readonly filledAt: number
  /** The URL of a path of the receiver. */
  readonly receiver: (path: string) => string
}

export type Begun = Pick<Known, "viewerKey" | "operatorKey" | "keys" | "workspaces" | "guardrails" | "providerKeys">

export const begin = async ({ filledAt, firstKey, manage, receiver }: Options): Promise<Begun> => {
  const workspaces = {
    default: Api.text(await manage("GET", "/workspaces"), "data", 0, "id"),
    research: await created(manage, "/workspaces", {
      name: "Research",
      slug: "research",
      description: "Experiments of the research team",
      default_callback_url: receiver("/failing")
    }),
    support: await created(manage, "/workspaces", { name: "Support", slug: "support" })
  }
  await manage("PATCH", `/workspaces/${workspaces.default}`, { default_callback_url: receiver("/ok") })
  await addCredits(manage, workspaces.research, 80, "Budget of the fourth quarter")
  await addCredits(manage, workspaces.support, 30, "First invoice")

  const createKey = async (fields: Fields): Promise<Key> => {
    const answer = await manage("POST", "/keys", fields)
    return {
      name: Api.text(answer, "data", "name"),
      key: Api.text(answer, "key"),
      hash: Api.text(answer, "data", "hash")
    }
  }
  const viewer = await createKey({ name: "dashboards", is_management_key: true, role: "viewer" })
  const operator = await createKey({
    name: "research-lead",
    is_management_key: true,
    role: "operator",
    workspace_ids: [workspaces.research]
  })
  await createKey({ name: "on-call", is_management_key: true, role: "admin" })
  const first = Api.list(await manage("GET", "/keys?limit=100"), "data").find(
    (item) => Api.part(item, "is_management_key") === false
  )
  const keys: Array<Key> = [{ name: Api.text(first, "name"), key: firstKey, hash: Api.text(first, "hash") }]
  const places = [workspaces.default, workspaces.research, workspaces.default, workspaces.support]
  for (const [index, name] of names.entries()) {
    keys.push(await createKey({ ...keyFields(name, index, filledAt), workspace_id: places[index % places.length] }))
  }

  const guardrail = async (fields: Fields, ...assigned: ReadonlyArray<string>): Promise<string> => {
    const id = await created(manage, "/guardrails", fields)
    const key_hashes = assigned.map((name) => keyNamed(keys, name).hash)
    await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes })
    return id
  }
  const guardrails = {
    production: await guardrail(
      { name: "Production", description: "What the product may spend", limit_usd: 1000 },
      "search-api",
      "web-frontend",
      "mobile-ios",
      "mobile-android"
    ),
    interns: await guardrail(
      {
        name: "Interns",
        limit_usd: 0.02,
        reset_interval: "daily",
        allowed_models: ["sandbox/bm25", "sandbox/tones", "acme/rerank"]
      },
      "intern-1",
      "intern-2",
      "intern-3",
      "intern-4"
    ),
    noVideo: await guardrail({ name: "No video", ignored_models: ["acme/veo", "acme/film"] }, "load-test", "faq-ranker")
  }
  await guardrail(
    {
      name: "European providers",
      allowed_providers: ["berlin", "frankfurt"],
      limit_usd: 50,
      reset_interval: "monthly"
    },
    "legal-discovery",
    "recruiting"
  )

  const providerKeys = {
    working: await created(manage, "/byok", {
      provider: "cohere",
      key: "key-of-the-filled-gateway",
      name: "Research at Cohere",
      workspace_id: workspaces.research,
      allowed_api_key_hashes: [keyNamed(keys, "podcast-pipeline").hash]
    }),
    refused: await created(manage, "/byok", {
      provider: "groq",
      key: "key-that-groq-refuses",
      name: "Support at Groq",
      workspace_id: workspaces.support
    }),
    disabled: await created(manage, "/byok", {
      provider: "openai",
      key: "key-of-last-year",
      name: "Old account",
      disabled: true
    })
  }
  return { viewerKey: viewer.key, operatorKey: operator.key, keys, workspaces, guardrails, providerKeys }
}

/** The key of this name. Fails if there is none. */
export const keyNamed = (keys: ReadonlyArray<Key>, name: string): Key => {
  const found = keys.find((key) => key.name === name)
  if (found === undefined) throw new Error(`There is no key ${name}`)
  return found
}
