import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { HttpClientError } from "effect/http"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { listening } from "../http/TestListener.ts"
import * as HostNames from "../../src/outbound/HostNames.ts"
import { layer, NotPublic, OutboundHttp } from "../../src/outbound/OutboundHttp.ts"

/** A server on this machine that lists its requests, and redirects one of them. */
const local = Effect.gen(function* () {
  const seen: Array<string> = []
  const server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${request.url}`)
    response.writeHead(request.url === "/redirect" ? 307 : 200, { location: "/redirected" }).end("done")
  })
  return { port: yield* listening(server), seen }
})

/** The client with these names, and with these hosts exempt. */
const client = (lookUp: HostNames.LookUp, outboundExemptHosts: ReadonlyArray<string> = []) =>
  layer.pipe(
    Layer.provide([Layer.succeed(HostNames.NameServers, lookUp), Layer.succeed(HostNames.System, lookUp)]),
    Layer.provide(GatewayServerConfig.layer({ outboundExemptHosts })),
    Layer.fresh
  )

const addresses =
  (...all: ReadonlyArray<string>): HostNames.LookUp =>
  () =>
    Effect.succeed(all.map((address) => ({ address, family: address.includes(":") ? 6 : 4, ttl: 60 })))

const never: HostNames.LookUp = () => Effect.die(new Error("the name was resolved"))

const causeOf = (error: HttpClientError.HttpClientError): unknown => error.reason.cause

for (const all of [
  ["127.0.0.1"],
  ["8.8.8.8", "127.0.0.1"],
  ["10.0.0.1", "8.8.8.8"],
  ["2606:4700::1111", "fd00::1"],
  ["::1"],
  ["::ffff:127.0.0.1"],
  ["64:ff9b::7f00:1"],
  ["2002:7f00:1::1"],
  ["0.0.0.0"]
]) {
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

it.live("connects to the address that was checked: a request asks for the name once", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* local
    let resolved = 0
    // Public when it is checked, and private for whoever asks again.
    const rebinding: HostNames.LookUp = () =>
      Effect.sync(() => [{ address: resolved++ === 0 ? "192.88.98.1" : "127.0.0.1", family: 4, ttl: 60 }])
    const get = Effect.flatMap(OutboundHttp, (http) => http.get(`https://hooks.example:${port}/`))
    yield* get.pipe(Effect.timeout("300 millis"), Effect.flip, Effect.provide(client(rebinding)))
    expect(resolved).toBe(1)
    expect(seen).toEqual([])
    // Whoever asks again is refused.
    const error = yield* Effect.flip(get.pipe(Effect.provide(client(rebinding))))
    expect(error).toMatchObject({
      reason: { _tag: "InvalidUrlError", cause: new NotPublic("The host has an address that is not public") }
    })
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

it.live("does not follow a redirect, wherever it leads", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* local
    const http = yield* OutboundHttp
    const answer = yield* http.get(`http://hooks.internal:${port}/redirect`)
    expect([answer.status, answer.headers["location"]]).toEqual([307, "/redirected"])
    expect(seen).toEqual([`hooks.internal:${port} /redirect`])
  }).pipe(Effect.provide(client(addresses("127.0.0.1"), ["hooks.internal"])))
)

it.live("checks the certificate against the name of the URL, although it connects to an address", () =>
  Effect.gen(function* () {
    const [cert, key] = ["crt", "key"].map((kind) =>
      readFileSync(new URL(`fixtures/receiver.${kind}`, import.meta.url))
    )
    if (cert === undefined || key === undefined) throw new Error("no certificate")
    const trusted = getCACertificates()
    yield* Effect.acquireRelease(
      Effect.sync(() => setDefaultCACertificates([...trusted, cert])),
      () => Effect.sync(() => setDefaultCACertificates(trusted))
    )
    const server = createTlsServer({ cert, key }, (_request, response) => response.end("done"))
    const port = yield* listening(server)
    const http = yield* OutboundHttp
    // The certificate is for this name.
    expect(yield* (yield* http.get(`https://hooks.example:${port}/`)).text).toBe("done")
    const error = yield* Effect.flip(http.get(`https://other.example:${port}/`))
    expect(causeOf(error)).toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" })
    const address = yield* Effect.flip(http.get(`https://127.0.0.1:${port}/`))
    expect(causeOf(address)).toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" })
  }).pipe(
    Effect.scoped,
    Effect.provide(client(addresses("127.0.0.1"), ["hooks.example", "other.example", "127.0.0.1"]))
  )
)
