// The example of Fastify, with real webhooks of the gateway.
import { beforeAll, describe } from "vitest"
import { runServer } from "./Example.ts"
import { itServes, type WebServer } from "./WebServer.ts"

let server: WebServer

beforeAll(async () => {
  server = await runServer("fastify")
  return server.stop
})

describe("a server on Fastify", () => {
  itServes(() => server)
})
