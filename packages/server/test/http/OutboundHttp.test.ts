import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { HttpClientError } from "effect/http"
import { createServer } from "node:http"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { layer, NotPublic, OutboundHttp, type Resolve, Resolver } from "../../src/http/OutboundHttp.ts"

/** A server on this machine that lists its requests, and redirects one of them. */
const local = Effect.gen(function* () {
  const seen: Array<string> = []
  const server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${request.url}`)
    response.writeHead(request.url === "/redirect" ? 307 : 200, { location: "/redirected" }).end("done")
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const address = server.address()
  if (address === null || typeof address === "string") return yield* Effect.die(new Error("no port"))
  return { port: address.port, seen }
})

/** The client with these names, and with these hosts exempt. */
const client = (resolve: Resolve, outboundExemptHosts: ReadonlyArray<string> = []) =>
  layer.pipe(
    Layer.provide(Layer.succeed(Resolver, resolve)),
    Layer.provide(GatewayServerConfig.layer({ outboundExemptHosts })),
    Layer.fresh
  )

const addresses =
  (...all: ReadonlyArray<string>): Resolve =>
  (_name, answer) =>
    answer(
      null,
      all.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )

const never: Resolve = () => {
  throw new Error("the name was resolved")
}

const causeOf = (error: HttpClientError.HttpClientError): unknown => error.reason.cause

for (const all of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["::1"], ["::ffff:127.0.0.1"]]) {
  it.live(`does not connect to a name with the addresses ${all.join(" and ")}`, () =>
    Effect.gen(function* () {
      const { port, seen } = yield* local
      const error = yield* Effect.flatMap(OutboundHttp, (http) => http.get(`https://hooks.example:${port}/`)).pipe(
        Effect.flip,
        Effect.provide(client(addresses(...all)))
      )
      expect(causeOf(error)).toBeInstanceOf(NotPublic)
      expect(seen).toEqual([])
    })
  )
}

it.live("refuses an address that is not public without a connection", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* local
    for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]) {
      const error = yield* Effect.flip(
        Effect.flatMap(OutboundHttp, (http) => http.get(`https://${host}:${port}/`)).pipe(Effect.provide(client(never)))
      )
      expect(causeOf(error)).toBeInstanceOf(NotPublic)
    }
    expect(seen).toEqual([])
  })
)

it.live("connects to the address that was checked: each connection resolves the name once", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* local
    let resolved = 0
    // Public when it is checked, and private for whoever asks again.
    const rebinding: Resolve = (_name, answer) =>
      answer(null, [{ address: resolved++ === 0 ? "192.88.98.1" : "127.0.0.1", family: 4 }])
    yield* Effect.flatMap(OutboundHttp, (http) => http.get(`https://hooks.example:${port}/`)).pipe(
      Effect.timeout("300 millis"),
      Effect.flip,
      Effect.provide(client(rebinding))
    )
    expect(resolved).toBe(1)
    expect(seen).toEqual([])
    // The next connection resolves again, and is refused.
    const error = yield* Effect.flip(
      Effect.flatMap(OutboundHttp, (http) => http.get(`https://hooks.example:${port}/`)).pipe(
        Effect.provide(client(rebinding))
      )
    )
    expect(error).toMatchObject({ reason: { cause: new NotPublic("The host has an address that is not public") } })
  })
)

it.live("connects to an exempt host, and does not follow its redirects", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* local
    const http = yield* OutboundHttp
    const answer = yield* http.get(`http://collector.internal:${port}/redirect`)
    expect(answer.status).toBe(307)
    expect(yield* answer.text).toBe("done")
    expect(seen).toEqual([`collector.internal:${port} /redirect`])
    const refused = yield* Effect.flip(http.get(`http://other.internal:${port}/`))
    expect(causeOf(refused)).toBeInstanceOf(NotPublic)
  }).pipe(Effect.provide(client(addresses("127.0.0.1"), ["collector.internal"])))
)
