import { expect, it } from "@effect/vitest"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { createServer } from "node:http"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as HostNames from "../../src/outbound/HostNames.ts"
import * as LinkClient from "../../src/outbound/LinkClient.ts"
import { listening } from "../http/TestListener.ts"

/** A server on this machine that answers with a video, or redirects to the URL in its query. */
const local = Effect.gen(function* () {
  const seen: Array<string> = []
  const server = createServer((request, response) => {
    const [path = "", target] = (request.url ?? "").split("?to=")
    seen.push(path)
    if (target === undefined) response.writeHead(200, { "content-type": "video/mp4" }).end("secret")
    else response.writeHead(302, { location: decodeURIComponent(target) }).end()
  })
  return { port: yield* listening(server), seen }
})

const loopback: HostNames.LookUp = () => Effect.succeed([{ address: "127.0.0.1", family: 4, ttl: 60 }])

/** Reads a link of an upstream. */
const read = (baseUrl: string, url: string, outboundExemptHosts: ReadonlyArray<string> = []) =>
  UpstreamHttp.make({ baseUrl }).pipe(
    Effect.flatMap((upstream) => Stream.mkString(Stream.decodeText(upstream.download({ url, model: "m" })))),
    Effect.provide([FetchHttpClient.layer, Layer.fresh(LinkClient.layer)]),
    Effect.provide(GatewayServerConfig.layer({ outboundExemptHosts })),
    Effect.provide([Layer.succeed(HostNames.NameServers, loopback), Layer.succeed(HostNames.System, loopback)])
  )

it.live("reads no link of an upstream that leads to an address that is not public, at any hop", () =>
  Effect.gen(function* () {
    const upstream = yield* local
    const inside = yield* local
    const baseUrl = `http://127.0.0.1:${upstream.port}`
    expect(yield* read(baseUrl, `${baseUrl}/a.mp4`)).toBe("secret")
    for (const url of [
      `https://127.0.0.1:${inside.port}/private`,
      `http://127.0.0.1:${inside.port}/private`,
      `https://2130706433:${inside.port}/private`,
      "https://169.254.169.254/latest/meta-data",
      `https://[::ffff:127.0.0.1]:${inside.port}/private`,
      `https://storage.example:${inside.port}/private`,
      `http://localhost:${upstream.port}/private`
    ]) {
      for (const link of [url, `${baseUrl}/b?to=${encodeURIComponent(url)}`]) {
        const { reason } = yield* Effect.flip(read(baseUrl, link))
        expect(reason).toMatchObject({ _tag: "BadResponse", description: "a link to a host that is not public" })
      }
    }
    expect(inside.seen).toEqual([])
    expect(new Set(upstream.seen)).toEqual(new Set(["/a.mp4", "/b"]))
  })
)

it.live("reads links to exempt hosts, and checks where they redirect to", () =>
  Effect.gen(function* () {
    const storage = yield* local
    const inside = yield* local
    const baseUrl = "http://127.0.0.1:1"
    const link = `http://storage.internal:${storage.port}/a.mp4`
    expect(yield* read(baseUrl, link, ["storage.internal"])).toBe("secret")
    const { reason } = yield* Effect.flip(
      read(baseUrl, `${link}?to=${encodeURIComponent(`http://127.0.0.1:${inside.port}/`)}`, ["storage.internal"])
    )
    expect(reason).toMatchObject({ description: "a link to a host that is not public" })
    expect(inside.seen).toEqual([])
  })
)
