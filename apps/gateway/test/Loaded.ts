/** Reads settings from files, environments and flags, as the commands do. */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Option } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as LoadSettings from "../src/LoadSettings.ts"
import { Offered } from "../src/Offered.ts"
import * as Offers from "../src/Offers.ts"
import { type AtEnd, folder } from "./Executable.ts"

/** A settings file with this text. */
export const fileOf = (text: string, atEnd?: AtEnd): string => {
  const file = join(folder(atEnd), "gateway.json")
  writeFileSync(file, text)
  return file
}

/** The settings that flags, a file and an environment give. */
export const load = (
  file: string | undefined,
  environment: Record<string, string> = {},
  flags: Record<string, string> = {}
) =>
  Effect.gen(function* () {
    const given = Object.entries(flags).map(([name, text]) => [name, Option.some(text)] as const)
    const loaded = yield* LoadSettings.load(Object.fromEntries(given), Option.fromNullishOr(file))
    return { ...(yield* LoadSettings.read(loaded)), ...(yield* loaded.read(GatewayServerConfig.config)) }
  }).pipe(Effect.provideService(LoadSettings.Environment, environment), Effect.provide(NodeServices.layer))

/** Uses what the gateway would offer with them. Afterwards its connections are closed. */
export const withOffered = <A, E>(
  file: string | undefined,
  environment: Record<string, string>,
  use: (offered: Offered["Service"]) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const loaded = yield* LoadSettings.load({}, Option.fromNullishOr(file))
    const settings = yield* LoadSettings.read(loaded)
    return yield* Effect.provide(Effect.flatMap(Offered, use), Offers.layer(loaded, settings))
  }).pipe(Effect.provideService(LoadSettings.Environment, environment), Effect.provide(NodeServices.layer))

/** What the gateway would offer with them. */
export const offered = (file: string | undefined, environment: Record<string, string> = {}) =>
  withOffered(file, environment, Effect.succeed)

/** The sentence with which they are refused. */
export const refusal = async (...given: Parameters<typeof load>) =>
  (await Effect.runPromise(Effect.flip(load(...given)))).message
