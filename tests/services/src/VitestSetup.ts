/**
 * The global setup of every package's tests: one Postgres for a run of vitest, started by the first
 * test that asks for it. Tests ask over HTTP, because they run in other processes.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { TestProject } from "vitest/node"
import { memoryFolder } from "./MemoryFolder.ts"
import { hasPostgres, type Postgres, startPostgres } from "./Postgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where to ask for the URL of this run's Postgres. Undefined if it is not installed. */
    readonly postgres: string | undefined
  }
}

export default async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  if (!hasPostgres()) {
    project.provide("postgres", undefined)
    return undefined
  }
  let starting: Promise<Postgres> | undefined
  const asked = createServer((_request, response) => {
    starting ??= startPostgres({ parent: memoryFolder() })
    starting.then(
      ({ url }) => response.end(url),
      (cause: unknown) => response.writeHead(500).end(String(cause))
    )
  })
  await once(asked.listen(0, "127.0.0.1"), "listening")
  const address = asked.address()
  project.provide("postgres", `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`)
  return async () => {
    asked.close()
    asked.closeAllConnections()
    if (starting !== undefined) await (await starting).remove()
  }
}
