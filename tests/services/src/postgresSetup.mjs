// The global setup of every package's tests: one Postgres for a run of vitest, started by the first
// test that asks for it. Tests ask over HTTP, because they run in other processes.
import { createServer } from "node:http"
import { hasPostgres, startPostgres } from "./postgres.mjs"

export default async (project) => {
  if (!hasPostgres()) {
    if (process.env.CI) throw new Error("no Postgres to test with; `npm run setup` installs it")
    project.provide("postgres", undefined)
    return
  }
  let starting
  const asked = createServer((_request, response) => {
    starting ??= startPostgres()
    starting.then(
      ({ url }) => response.end(url),
      (cause) => response.writeHead(500).end(String(cause))
    )
  })
  await new Promise((resolve) => asked.listen(0, "127.0.0.1", resolve))
  project.provide("postgres", `http://127.0.0.1:${asked.address().port}`)
  return async () => {
    asked.close()
    asked.closeAllConnections()
    if (starting !== undefined) await (await starting).remove()
  }
}
