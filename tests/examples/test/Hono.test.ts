// The example of Hono, with real webhooks of the gateway.
import { beforeAll, describe } from "vitest"
import { runServer } from "./Example.ts"
import { itServes, type WebServer } from "./WebServer.ts"

let server: WebServer

beforeAll(async () => {
  server = await runServer("hono")
  return server.stop
})

describe("a server on Hono", () => {
  itServes(() => server)
})
