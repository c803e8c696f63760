/**
 * Values that match a JSON Schema, with names from the gateway under test, so that many requests
 * are valid.
 */
import { silence } from "@model-gateway/test-services/Wav"
import { entriesOf, fieldOf } from "../client.ts"
import { resolve } from "./operations.ts"
import type { Random } from "./random.ts"

/** The objects that a request may refer to. */
export interface Known {
  readonly workspace: string
  readonly keyHashes: ReadonlyArray<string>
  readonly guardrails: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
  readonly videos: ReadonlyArray<string>
  readonly generations: ReadonlyArray<string>
  readonly providerKeys: ReadonlyArray<string>
  readonly destinations: ReadonlyArray<string>
  /** Workspaces without keys, which can be deleted. */
  readonly emptyWorkspaces: ReadonlyArray<string>
  readonly deliveries: ReadonlyArray<string>
  readonly alerts: ReadonlyArray<string>
  /** Sessions of the console. */
  readonly sessions: ReadonlyArray<string>
}

/** A host that the fuzzed gateway may send webhooks to. Nothing listens there. */
export const exemptHost = "localhost"

const models = {
  rerank: ["sandbox/bm25", "sandbox/bm25:free", "sandbox/status-429", "sandbox/status-502"],
  transcribe: ["sandbox/tones", "sandbox/status-504"],
  // Rendering a video is by far the most expensive, so few are requested.
  submitVideo: ["sandbox/status-400", "sandbox/status-402", "sandbox/status-404", "sandbox/status-413", "no/model"]
} as const

const modelFor = (random: Random, operation: string, isPlain: boolean): string => {
  if (isPlain) {
    if (/rerank/i.test(operation)) return "sandbox/bm25"
    return operation.endsWith("transcribe") ? "sandbox/tones" : "sandbox/title-card"
  }
  if (random.chance(0.1)) return random.pick(["no/model", "sandbox/tones", "sandbox/bm25", "sandbox/title-card", "x"])
  if (/rerank/i.test(operation)) return random.pick(models.rerank)
  if (operation.endsWith("transcribe")) return random.pick(models.transcribe)
  return random.chance(0.1) ? "sandbox/title-card" : random.pick(models.submitVideo)
}

export const smallAudio = silence({ size: 8000 })
const audioText = smallAudio.toString("base64")

const words = [
  "tea",
  "a cup of green tea",
  "Süßer Tee",
  "東京都に住む",
  "👍🏽",
  "e\u0301",
  "مرحبا",
  "x".repeat(300)
] as const

/** Fields whose format the OpenAPI document does not describe. */
const known = (random: Random, operation: string, name: string, world: Known, isPlain: boolean): unknown => {
  switch (name) {
    case "model":
      return modelFor(random, operation, isPlain)
    case "slug":
      return random.chance(0.8) ? `fuzz-${random.below(1_000_000_000)}` : undefined
    case "image":
      return random.pick(["https://example.com/a.png", "data:image/png;base64,AAAA"])
    case "url":
      return "https://example.com/a.png"
    case "signing_secret":
      return `whsec_${"A".repeat(43)}=`
    case "endpoint":
      return "https://collector.invalid/v1/traces"
    case "provider":
      return operation.endsWith("ByokKey") ? random.pick(["cohere", "openai"]) : undefined
    case "callback_url":
    case "default_callback_url":
      // The gateway refuses to call the second one.
      return random.pick([`https://${exemptHost}:1/hook`, "https://127.0.0.1:1/hook"])
    case "data":
      return audioText
    case "format":
      return "wav"
    case "language":
      return "de"
    case "size":
      return "854x480"
    case "resolution":
      return "480p"
    case "duration":
      return 1
    case "temperature":
      return undefined
    case "expires_at":
      return random.pick(["2030-01-01T00:00:00Z", null])
    case "key_hashes":
      return Array.from({ length: 1 + random.below(3) }, () => random.pickOr(world.keyHashes, "0".repeat(64)))
    case "workspace_id":
      return world.workspace
    case "kind":
      // Other kinds of alert need fields that the schema does not require.
      return isPlain && operation.endsWith("Alert") ? "failed_share" : undefined
    case "threshold":
      return random.pick([0.5, 1, 5])
    case "order":
    case "only":
    case "ignore":
      return [random.pick(["sandbox", "elsewhere"])]
    default:
      return undefined
  }
}

/**
 * Optional fields that most requests need, which the schema cannot express: a document has a text
 * or an image, a video usually a prompt, a destination its address. Long or large videos take too
 * much time to render.
 */
const isUsuallyNeeded = new Set(["text", "prompt", "duration", "resolution", "endpoint", "url"])

const numberField = (schema: unknown, name: string, otherwise: number): number => {
  const value = fieldOf(schema, name)
  return typeof value === "number" ? value : otherwise
}

/**
 * A value that usually matches the schema. With `isPlain`, an object has its required fields and no
 * others.
 */
export const valueOf = (random: Random, operation: string, schema: unknown, world: Known, isPlain = false): unknown => {
  const inside = (inner: unknown): unknown => valueOf(random, operation, inner, world, isPlain)
  const reference = fieldOf(schema, "$ref")
  if (typeof reference === "string") return inside(resolve(reference))
  const choices = fieldOf(schema, "anyOf") ?? fieldOf(schema, "oneOf")
  if (Array.isArray(choices)) return inside(random.pickOr<unknown>(choices, {}))
  const literals = fieldOf(schema, "enum")
  if (Array.isArray(literals)) return random.pickOr<unknown>(literals, null)
  switch (fieldOf(schema, "type")) {
    case "object": {
      const required = fieldOf(schema, "required")
      const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
      const made: Record<string, unknown> = {}
      const share = isPlain ? 0 : random.pick([0, 0.2, 0.5])
      for (const [name, field] of entriesOf(fieldOf(schema, "properties"))) {
        if (!isRequired(name) && !isUsuallyNeeded.has(name) && !random.chance(share)) continue
        made[name] = known(random, operation, name, world, isPlain) ?? inside(field)
      }
      if (fieldOf(schema, "additionalProperties") !== false && !isPlain && random.chance(0.3)) {
        made[random.pick(["extra", "sandbox", "tenant"])] = random.pick([{ a: [1, { b: null }] }, {}])
      }
      return made
    }
    case "array":
      return Array.from({ length: numberField(schema, "minItems", 0) + random.below(4) }, () =>
        inside(fieldOf(schema, "items"))
      )
    case "integer":
      return Math.max(numberField(schema, "minimum", 1), 1) + random.below(3)
    case "number":
      // Amounts are whole micro-credits.
      return Math.min(numberField(schema, "maximum", 1000), (1 + random.below(2_000_000)) / 1_000_000)
    case "boolean":
      return random.chance(0.5)
    case "null":
      return null
    default: {
      const inner = fieldOf(schema, "contentSchema")
      if (inner !== undefined) return JSON.stringify(inside(inner))
      return random.pick(words).slice(0, numberField(schema, "maxLength", Infinity))
    }
  }
}
