/**
 * The upstreams of this gateway: those that the adapters have of their own, set by variables, and
 * those that the settings file names.
 */
import { dataPolicyOf } from "@model-gateway/offers/Adapter"
import type { AnyAdapter } from "@model-gateway/providers/Adapters"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { nearest } from "@model-gateway/settings/Nearest"
import { Effect } from "effect"
import { Failure } from "./Failure.ts"
import type { Loaded } from "./LoadSettings.ts"
import * as ModelSettings from "./ModelSettings.ts"
import type { Upstream } from "./Offered.ts"
import * as Settings from "./Settings.ts"

/** Every upstream that has a URL. Fails with a sentence about the first one that is wrong. */
export const all = Effect.fnUntraced(function* (
  loaded: Loaded,
  settings: Settings.Settings["upstreams"],
  adapters: ReadonlyArray<AnyAdapter>
) {
  const entries = loaded.file.modelSettings.upstreams ?? {}
  const upstreams: Array<Upstream> = []
  for (const adapter of adapters) {
    const upstream = ownOf(adapter, loaded, settings)
    if (upstream !== undefined) upstreams.push(upstream)
  }
  for (const [name, entry] of Object.entries(entries)) {
    const adapter = yield* adapterOf(loaded, name, entry, adapters)
    if (Settings.upstreamOf(name) === undefined) upstreams.push(yield* named(loaded, name, entry, adapter))
  }
  return upstreams
})

/** The upstream that an adapter has of its own. Undefined if it has no URL or does not exist. */
const ownOf = (
  adapter: AnyAdapter,
  { file, sourceOf }: Loaded,
  settings: Settings.Settings["upstreams"]
): Upstream | undefined => {
  const { name } = adapter
  const declared = Settings.upstreamOf(name)
  const { apiKey, baseUrl } = settings[name] ?? {}
  if (declared === undefined || baseUrl === undefined) return undefined
  const { models = {}, upstreams } = file.modelSettings
  const entry = upstreams?.[name]
  const isUsed = Object.values(models).some(({ offers }) => offers.some(({ upstream }) => upstream === name))
  return {
    adapter,
    name,
    baseUrl,
    credential: apiKey === undefined && adapter.credential === "required" ? undefined : gatewayCredential(apiKey),
    credentialSource: sourceOf(declared.apiKey),
    timeLimit: ModelSettings.durationOf(entry?.timeLimit),
    dataPolicy: entry?.dataPolicy ?? dataPolicyOf(adapter, { baseUrl }),
    isMentioned: isUsed || entry !== undefined || sourceOf(declared.baseUrl) !== undefined
  }
}

/** The adapter of an upstream in the settings file. */
const adapterOf = (
  { file: { sourceOf } }: Loaded,
  name: string,
  entry: ModelSettings.Upstream,
  adapters: ReadonlyArray<AnyAdapter>
): Effect.Effect<AnyAdapter, Failure> => {
  const fail = (message: string) => Effect.fail(new Failure({ message }))
  const source = sourceOf(["upstreams", name])
  if (name === Sandbox.name) return fail(`${source} has the name of the sandbox. Choose another.`)
  const known = adapters.find((adapter) => adapter.name === name)
  if (entry.adapter === undefined) {
    const names = adapters.map((adapter) => adapter.name)
    return known === undefined
      ? fail(`${source} has no "adapter", and no adapter has this name. Did you mean "${nearest(name, names)}"?`)
      : Effect.succeed(known)
  }
  if (known !== undefined && known.name !== entry.adapter) {
    return fail(
      `${sourceOf(["upstreams", name, "adapter"])} is "${entry.adapter}", but "${name}" is the name of another adapter. Choose another name for the upstream.`
    )
  }
  const adapter = adapters.find((adapter) => adapter.name === entry.adapter)
  return adapter === undefined ? fail(`${source} has no adapter.`) : Effect.succeed(adapter)
}

/** An upstream under a name of its own. */
const named = (
  { file: { sourceOf }, fileKeys }: Loaded,
  name: string,
  { baseUrl = "", dataPolicy, timeLimit }: ModelSettings.Upstream,
  adapter: AnyAdapter
): Effect.Effect<Upstream, Failure> => {
  const fail = (message: string) => Effect.fail(new Failure({ message: `${sourceOf(["upstreams", name])} ${message}` }))
  const url = baseUrl === "" ? adapter.defaultBaseUrl : baseUrl
  if (url === undefined) return fail(`has no "baseUrl", which ${adapter.title} has no default for.`)
  if (baseUrl !== "" && adapter.defaultBaseUrl === "")
    return fail(`has a "baseUrl", but ${adapter.title} calls no URL.`)
  const apiKey = fileKeys.get(name)
  if (apiKey === undefined && baseUrl === "" && adapter.credential === "required") {
    return fail(`has no "apiKey", which ${adapter.title} requires.`)
  }
  return Effect.succeed({
    adapter,
    name,
    baseUrl: url,
    credential: gatewayCredential(apiKey?.value),
    credentialSource: apiKey?.source,
    timeLimit: ModelSettings.durationOf(timeLimit),
    dataPolicy: dataPolicy ?? dataPolicyOf(adapter, { baseUrl: url }),
    isMentioned: true
  })
}
