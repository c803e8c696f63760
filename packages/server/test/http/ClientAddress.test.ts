import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { IpNetwork } from "effect/net"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as ClientAddress from "../../src/http/ClientAddress.ts"

const fromEnvironment = (text: string) =>
  GatewayServerConfig.config.parse(ConfigProvider.fromUnknown({ MODEL_GATEWAY_TRUSTED_PROXIES: text }))

/** The address of a caller whom `peer` speaks for with these headers. */
const callerOf =
  (...trustedProxies: ReadonlyArray<string>) =>
  (peer: string | undefined, forwarded?: string, headers: Record<string, string> = {}): string =>
    ClientAddress.make(Effect.runSync(fromEnvironment(trustedProxies.join(","))).trustedProxies)(
      HttpServerRequest.fromWeb(
        new Request("http://gateway.test/", {
          headers: forwarded === undefined ? headers : { ...headers, "x-forwarded-for": forwarded }
        })
      ).modify({ remoteAddress: Option.fromNullishOr(peer) })
    )

describe("the caller's address", () => {
  it("is the peer's where no proxy is trusted, whatever the peer says", () => {
    expect(callerOf()("203.0.113.9", "198.51.100.7")).toBe("203.0.113.9")
    expect(callerOf()(undefined, "198.51.100.7")).toBe("unknown")
  })

  it("is the peer's if the peer is no trusted proxy, whatever its header says", () => {
    const of = callerOf("10.0.0.0/8")
    for (const peer of ["203.0.113.9", "11.0.0.1", "::ffff:203.0.113.9", "2001:db8::1"]) {
      expect(of(peer, "198.51.100.7")).toBe(peer)
    }
    expect(of(undefined, "198.51.100.7")).toBe("unknown")
  })

  it("is the right-most address that is not a trusted proxy, so that nothing a caller adds is trusted", () => {
    const of = callerOf("10.0.0.0/8", "192.0.2.1")
    expect(of("10.0.0.1", "198.51.100.7")).toBe("198.51.100.7")
    expect(of("10.0.0.1", "6.6.6.6, 10.9.9.9, 198.51.100.7")).toBe("198.51.100.7")
    expect(of("10.0.0.1", "6.6.6.6, 198.51.100.7, 192.0.2.1,10.1.2.3")).toBe("198.51.100.7")
    expect(of("192.0.2.1", "198.51.100.7")).toBe("198.51.100.7")
    expect(of("192.0.2.2", "198.51.100.7")).toBe("192.0.2.2")
  })

  it("is the left-most address if all of them are trusted proxies", () => {
    expect(callerOf("10.0.0.0/8")("10.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3")
  })

  it("is the proxy's where the proxy does not say", () => {
    const of = callerOf("10.0.0.0/8")
    for (const nothing of [undefined, "", " ", ",", ", ,"]) expect(of("10.0.0.1", nothing)).toBe("10.0.0.1")
    expect(of("10.0.0.1", undefined, { forwarded: "for=198.51.100.7", "x-real-ip": "198.51.100.7" })).toBe("10.0.0.1")
  })

  it("is that of the proxy that wrote an invalid entry: nothing before it can be trusted", () => {
    const of = callerOf("10.0.0.0/8")
    for (const broken of ["unknown", "_hidden", "example.com", "1.2.3", "256.1.1.1", "010.1.1.1", "1.2.3.4:99999"]) {
      expect([broken, of("10.0.0.1", `198.51.100.7, ${broken}`)]).toEqual([broken, "10.0.0.1"])
      expect([broken, of("10.0.0.1", `198.51.100.7, ${broken}, 10.0.0.2`)]).toEqual([broken, "10.0.0.2"])
      expect([broken, of("10.0.0.1", `${broken}, 198.51.100.7`)]).toEqual([broken, "198.51.100.7"])
    }
  })

  it("skips empty entries", () => {
    expect(callerOf("10.0.0.0/8")("10.0.0.1", ", 198.51.100.7, ,10.0.0.2,")).toBe("198.51.100.7")
  })

  it("is normalized, without its port", () => {
    const of = callerOf("10.0.0.0/8")
    expect(of("10.0.0.1", "198.51.100.7:51234")).toBe("198.51.100.7")
    expect(of("10.0.0.1", "::ffff:198.51.100.7")).toBe("198.51.100.7")
    for (const one of ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:51234", "2001:DB8:0:0:0::1"]) {
      expect([one, of("10.0.0.1", one)]).toEqual([one, "2001:db8::1"])
    }
  })

  it("knows a proxy by IPv4, by IPv6 and by IPv4 inside IPv6", () => {
    for (const [proxy, peer] of [
      ["10.0.0.0/8", "::ffff:10.1.2.3"],
      ["::ffff:10.0.0.0/104", "10.1.2.3"],
      ["::ffff:10.1.2.3", "10.1.2.3"],
      ["2001:db8::/32", "2001:db8:7::1"],
      ["2001:db8::7", "2001:db8:0:0::7"],
      ["fe80::/10", "fe80::1%eth0"],
      ["10.1.2.3/8", "10.9.9.9"]
    ] as const) {
      expect([proxy, callerOf(proxy)(peer, "198.51.100.7")]).toEqual([proxy, "198.51.100.7"])
    }
    expect(callerOf("2001:db8::/32")("2001:db9::1", "198.51.100.7")).toBe("2001:db9::1")
  })

  it("is found without reading ten thousand entries", () => {
    const of = callerOf("10.0.0.0/8")
    const many = Array.from({ length: 10_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1`)
    expect(of("10.0.0.1", [...many, "198.51.100.7"].join(", "))).toBe("198.51.100.7")
    // No service stands behind so many proxies: the walk ends at the 32nd, and addresses further
    // left are ignored.
    expect(of("10.0.0.1", ["198.51.100.7", ...many].join(", "))).toBe(many.at(-32))
    expect(of("10.0.0.1", ",".repeat(10_000))).toBe("10.0.0.1")
  })
})

describe("a list of trusted proxies", () => {
  it.effect("is written with commas", () =>
    Effect.gen(function* () {
      const { trustedProxies } = yield* fromEnvironment(" 10.0.0.0/8, 2001:db8::7 ,,")
      expect(trustedProxies.map(IpNetwork.format)).toEqual(["10.0.0.0/8", "2001:db8::7/128"])
    })
  )

  it.effect("with anything else in it is refused, in a sentence that names it", () =>
    Effect.gen(function* () {
      for (const text of [
        "proxy.example",
        "10.0.0",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/8/8",
        "10.0.0.0/",
        "2001:db8::/129",
        "[2001:db8::1]",
        "10.0.0.1:80",
        "*"
      ]) {
        const error = yield* Effect.flip(fromEnvironment(`192.0.2.1, ${text}`))
        expect(error.message).toContain(`${text} is not an address or block of addresses such as 10.0.0.0/8`)
        expect(error.message).toContain("MODEL_GATEWAY_TRUSTED_PROXIES")
      }
      for (const all of ["0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96"]) {
        const error = yield* Effect.flip(fromEnvironment(all))
        expect(error.message).toContain(`${all} would let every caller choose its own address`)
      }
    })
  )

  it("given as values has the same rules", () => {
    for (const all of ["0.0.0.0/0", "::/0"]) {
      expect(() => GatewayServerConfig.make({ trustedProxies: [IpNetwork.fromStringUnsafe(all)] })).toThrow(
        `trustedProxies is [${all}], which is not a list of addresses and blocks such as 10.0.0.0/8: ${all} would let every caller choose its own address`
      )
    }
  })

  it("is counted by itself as IPv4, by its first 64 bits as IPv6, and by its text as anything else", () => {
    const counted = {
      "192.0.2.1": "192.0.2.1",
      "::ffff:192.0.2.1": "192.0.2.1",
      "2001:db8::1": "2001:db8::/64",
      "2001:DB8:0:0:ffff:1:2:3": "2001:db8::/64",
      "2001:db8:0:1::1": "2001:db8:0:1::/64",
      "fe80::1%eth0": "fe80::/64",
      unknown: "unknown"
    }
    for (const [address, by] of Object.entries(counted))
      expect([address, ClientAddress.countedBy(address)]).toEqual([address, by])
  })
})
