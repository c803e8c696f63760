/**
 * Keys of every kind, and objects to refer to. Whatever the fuzzer may delete is recreated from
 * time to time.
 */
import { guess } from "../attacks/access.ts"
import { manager, textOf } from "../attacks/attack.ts"
import { form } from "../audio.ts"
import { ask, entriesOf, fieldOf, jsonOf } from "../client.ts"
import type { Gateway } from "../gateway.ts"
import { exemptHost, type Known, smallAudio } from "./values.ts"

/** The kinds of key that a request may have. */
export const keyKinds = [
  "ordinary",
  "management",
  "ephemeral",
  "limit 0",
  "deleted",
  "disabled",
  "unknown",
  "malformed",
  "none"
] as const

export type KeyKind = (typeof keyKinds)[number]

/** Kinds that authenticate no one: the response must be 401, whatever else is wrong. */
export const refusedKinds: ReadonlySet<KeyKind> = new Set(["deleted", "disabled", "unknown", "malformed", "none"])

export interface World {
  /** The value of the header, or undefined for no header. */
  readonly authorization: Readonly<Record<KeyKind, string | undefined>>
  readonly known: () => Known
  /** Recreates what requests have deleted. */
  readonly renew: () => Promise<void>
}

const sample = <A>(count: number, make: () => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: count }, make))

/** A collector whose name does not resolve. */
const destination = {
  type: "otel-collector",
  name: "hostile",
  config: { endpoint: "https://collector.invalid/v1/traces" }
}

const alert = {
  name: "hostile",
  kind: "credits_left",
  threshold: 0,
  target: { type: "webhook", url: "https://alerts.invalid/hook" }
}

/**
 * Makes the objects. `isExempt` states whether the gateway may send webhooks to {@link exemptHost}:
 * only then are there deliveries.
 */
export const make = async (gateway: Gateway, isExempt = false): Promise<World> => {
  const manage = manager(gateway, gateway.managementKey)
  const spend = manager(gateway, gateway.apiKey)
  const newKey = (options?: object) => manage("POST", "/keys", { name: "hostile", ...options })
  const poor = await newKey({ limit: 0 })
  const deleted = await newKey()
  await manage("DELETE", `/keys/${textOf(deleted, "data", "hash")}`)
  const disabled = await newKey()
  await manage("PATCH", `/keys/${textOf(disabled, "data", "hash")}`, { disabled: true })
  const ephemeral = await spend("POST", "/keys/ephemeral", { expires_in: 900 })
  await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1000 })
  const callback = { callback_url: `https://${exemptHost}:1/hook` }
  const videos = await sample(2, async () =>
    textOf(
      await spend("POST", "/videos", {
        model: "sandbox/title-card",
        prompt: "tea",
        duration: 1,
        resolution: "480p",
        ...(isExempt ? callback : undefined)
      }),
      "id"
    )
  )
  // Wait for rendering to end, because it is not part of the measurement.
  for (const id of videos) while (textOf(await spend("GET", `/videos/${id}?wait=5`), "status") !== "completed");
  // Nothing listens there, so the deliveries stay.
  const deliveries = entriesOf(fieldOf(await manage("GET", "/webhooks/deliveries"), "data")).map(([, delivery]) =>
    textOf(delivery, "id")
  )
  const { body, headers } = form({ model: "sandbox/tones" }, { name: "small.wav", bytes: smallAudio })
  await ask(gateway.origin, {
    method: "POST",
    path: "/api/v1/audio/transcriptions",
    key: gateway.apiKey,
    headers,
    body
  })

  const rerank = { model: "sandbox/bm25", query: "tea", documents: ["tea"] }
  const generations = await sample(2, async () => textOf(await spend("POST", "/rerank", rerank), "id"))

  const upload = async () => {
    const { body, headers } = form({ purpose: "tests" }, { name: "small.wav", bytes: smallAudio })
    return textOf(
      jsonOf(await ask(gateway.origin, { method: "POST", path: "/api/v1/files", key: gateway.apiKey, headers, body })),
      "id"
    )
  }
  /** A workspace has only so many of these, so the old ones go first. */
  const refill = async (path: string, body: object) => {
    const old = entriesOf(fieldOf(await manage("GET", `${path}?limit=100`), "data"))
    await Promise.all(old.map(([, item]) => manage("DELETE", `${path}/${textOf(item, "id")}`)))
    return sample(4, async () => textOf(await manage("POST", path, body), "data", "id"))
  }
  let workspacesMade = 0
  /** The slug of a deleted workspace stays taken for a moment. */
  const emptyWorkspaces = () =>
    sample(4, async () => {
      const slug = `fuzz-${++workspacesMade}`
      return textOf(await manage("POST", "/workspaces", { name: "Fuzz", slug }), "data", "id")
    })
  const sessions = async () => {
    const answers = await sample(4, () =>
      ask(gateway.origin, {
        method: "POST",
        path: "/console/session",
        headers: { origin: gateway.origin, "x-model-gateway-console": "1" },
        body: { key: gateway.managementKey }
      })
    )
    const refused = answers.find(({ status }) => status !== 200)
    if (refused !== undefined) throw new Error(`A session of the console did not start: ${refused.status}`)
    const all = entriesOf(fieldOf(await manage("GET", "/console/sessions"), "data"))
    return all.map(([, session]) => textOf(session, "id"))
  }
  const makeKnown = async (): Promise<Known> => ({
    workspace: gateway.workspace,
    videos,
    generations,
    keyHashes: await sample(6, async () => textOf(await newKey(), "data", "hash")),
    guardrails: await sample(4, async () =>
      textOf(await manage("POST", "/guardrails", { name: "hostile" }), "data", "id")
    ),
    files: await sample(4, upload),
    providerKeys: await refill("/byok", { provider: "cohere", key: "not-a-real-key" }),
    destinations: await refill("/observability/destinations", destination),
    emptyWorkspaces: await emptyWorkspaces(),
    alerts: await refill("/alerts", { ...alert, workspace_id: gateway.workspace }),
    sessions: await sessions(),
    deliveries
  })
  let known = await makeKnown()

  return {
    authorization: {
      ordinary: `Bearer ${gateway.apiKey}`,
      management: `Bearer ${gateway.managementKey}`,
      ephemeral: `Bearer ${textOf(ephemeral, "key")}`,
      "limit 0": `Bearer ${textOf(poor, "key")}`,
      deleted: `Bearer ${textOf(deleted, "key")}`,
      disabled: `Bearer ${textOf(disabled, "key")}`,
      unknown: `Bearer ${guess()}`,
      malformed: "Bearer mg_sk_tea",
      none: undefined
    },
    known: () => known,
    renew: async () => {
      known = await makeKnown()
    }
  }
}
