/** The types of the client's methods as an editor shows them: as the compiler prints them in an error. */
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
const folder = join(root, "test-results", "hovers")

const code = `import type { Gateway } from "@model-gateway/core"
declare const gateway: Gateway.Gateway["Service"]
export const rerank: never = gateway.rerank
export const getKey: never = gateway.getKey
`

it("a method hovers as a signature with named types", { timeout: 60_000 }, async () => {
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
  const { stdout } = await promisify(execFile)(join(root, "../../node_modules/.bin/tsc"), [
    "-p",
    folder,
    "--pretty",
    "false"
  ]).catch((error: { readonly stdout: string }) => error)
  expect(stdout).toContain(
    "'(request: Request, options?: CallOptions | undefined) => Effect<Response, Failure, never>'"
  )
  expect(stdout).toContain("'(hash: string) => Effect<Key, Failure, never>'")
})
