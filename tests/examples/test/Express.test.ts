// The example of Express, with real webhooks of the gateway.
import { beforeAll, describe } from "vitest"
import { runServer } from "./Example.ts"
import { itServes, type WebServer } from "./WebServer.ts"

let server: WebServer

beforeAll(async () => {
  server = await runServer("express")
  return server.stop
})

describe("a server on Express", () => {
  itServes(() => server)
})
