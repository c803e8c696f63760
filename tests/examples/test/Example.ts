/** Starts the programs of `examples`. */
import { type Running, start } from "@model-gateway/test-services/GatewayProcess"
import { fileURLToPath } from "node:url"
import { inject } from "vitest"
import type { WebServer } from "./WebServer.ts"

/** The folder of an example. */
export const folderOf = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))

/** What every example reads from the environment: where the gateway is, and the key. */
export const environment = (): Readonly<Record<string, string>> => {
  const { key, origin } = inject("gateway")
  return { MODEL_GATEWAY_BASE_URL: `${origin}/api/v1`, MODEL_GATEWAY_API_KEY: key }
}

/**
 * Runs a program of an example with the project's Node, in the folder of the example. `settings`
 * are added to its environment.
 */
export const run = (
  name: string,
  args: ReadonlyArray<string>,
  settings: Readonly<Record<string, string>> = {}
): Running => start(process.execPath, args, { cwd: folderOf(name), env: { ...environment(), ...settings } })

/** Runs the web server of an example on a free port. */
export const runServer = async (name: string): Promise<WebServer> => {
  const running = run(name, ["src/server.ts"], { PORT: "0", WEBHOOK_SECRET: inject("gateway").webhookSecret })
  const [, origin = ""] = await running.prints(/Listening on (http:\S+)/)
  return { ...running, origin }
}
