/**
 * The types of the client's methods as an editor shows them: as the compiler prints them in an
 * error.
 */
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
const folder = join(root, "test-results", "hovers")

const code = `import { Effect } from "effect"
import { Gateway, Rerank } from "@model-gateway/core"
declare const gateway: Gateway.Gateway["Service"]
export const rerank: never = gateway.rerank
export const getKey: never = gateway.getKey
const best = (q: string) => Rerank.rerank({ model: "m", query: q, documents: [q] })
export const helper: never = best
const method = Effect.flatMap(Gateway.Gateway, (gateway) => gateway.rerank({ model: "m", query: "q", documents: ["d"] }))
export const composed: never = method
`

it("methods and helpers that call them hover with named types", { timeout: 60_000 }, async () => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "hovers.ts"), code)
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../../../tsconfig.base.json",
      compilerOptions: { lib: ["ES2024", "DOM", "DOM.Iterable"], composite: false, noEmit: true },
      include: ["*.ts"]
    })
  )
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, "../../node_modules/typescript/bin/tsc"),
    "-p",
    folder,
    "--pretty",
    "false"
  ]).catch((error: { readonly stdout: string }) => error)
  expect(stdout).toContain(
    "'(request: Request, options?: CallOptions | undefined) => Effect<Response, Failure, never>'"
  )
  expect(stdout).toContain("'(hash: string) => Effect<Key, Failure, never>'")
  expect(stdout).toContain("'(q: string) => Effect.Effect<Rerank.Response, Rerank.Failure, GatewayClient>'")
  expect(stdout).toContain("'Effect<Response, Failure, Gateway>'")
})
