import { describe, expect, it } from "vitest"
import { isPublicAddress, problemOf } from "../../src/outbound/OutboundUrl.ts"

describe("a public address", () => {
  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.0",
    "100.128.0.1",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8"
  ])("%s is one", (address) => expect(isPublicAddress(address)).toBe(true))

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "not an address",
    ""
  ])("%s is none", (address) => expect(isPublicAddress(address)).toBe(false))
})

const noAddress = "Expected a host with a public address"
const noHttps = "Expected an https:// URL"

describe("a URL of a caller", () => {
  it.each([
    "https://hooks.example/in?a=1",
    "https://hooks.example:8443/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    // A name: its addresses are checked when it is connected to.
    "https://localhost/",
    "HTTPS://HOOKS.EXAMPLE",
    "https://hooks.example.:8443/",
    "https://bücher.example/"
  ])("%s is accepted", (url) => expect(problemOf(url, [])).toBeUndefined())

  it.each([
    ["http://hooks.example/", noHttps],
    ["ftp://hooks.example/", noHttps],
    ["hooks.example", noHttps],
    ["https://", noHttps],
    ["https://user@hooks.example/", "Expected a URL without user name and password"],
    ["https://:secret@hooks.example/", "Expected a URL without user name and password"],
    ["https://127.0.0.1/", noAddress],
    ["https://2130706433/", noAddress],
    ["https://0x7f000001/", noAddress],
    ["https://0x7f.1/", noAddress],
    ["https://0177.0.0.1/", noAddress],
    ["https://017700000001/", noAddress],
    ["https://127.1/", noAddress],
    ["https://0/", noAddress],
    ["https://①②⑦.0.0.1/", noAddress],
    ["https://169.254.169.254/latest/meta-data", noAddress],
    ["https://[::1]/", noAddress],
    ["https://[::ffff:127.0.0.1]/", noAddress],
    ["https://[::ffff:7f00:1]/", noAddress],
    ["https://[64:ff9b::10.0.0.1]/", noAddress],
    ["https://127.0.0.1./", noAddress],
    ["https://127.0.0.1:8443/", noAddress],
    ["https://0x7F000001/", noAddress],
    ["https://0X7F.0.0.0x1/", noAddress],
    ["https://00/", noAddress],
    ["https://0.0.0.0/", noAddress],
    ["https://127。0。0。1/", noAddress],
    ["https://2852039166/", noAddress],
    ["https://0xa9fea9fe/", noAddress],
    ["https://0251.0376.0251.0376/", noAddress],
    ["https://[::]/", noAddress],
    ["https://[0:0:0:0:0:FFFF:169.254.169.254]/", noAddress],
    ["https://[::ffff:169.254.169.254]/", noAddress],
    ["https://[::169.254.169.254]/", noAddress],
    ["https://[64:ff9b::a9fe:a9fe]/", noAddress],
    ["https://[64:ff9b:1::a9fe:a9fe]/", noAddress],
    ["https://[2002:a9fe:a9fe::1]/", noAddress],
    ["https://[2001:0:a9fe:a9fe::1]/", noAddress],
    ["https://[fe80::1]/", noAddress],
    ["https://[fd00:ec2::254]/", noAddress],
    // Not an address, and not a name either.
    ["https://256.256.256.256/", noHttps],
    ["https://1.2.3.4.5/", noHttps],
    ["https://[fe80::1%25eth0]/", noHttps],
    ["https://hooks.example:99999/", noHttps],
    [`https://hooks.example/${"a".repeat(2048)}`, "Expected a URL of at most 2048 characters"]
  ])("%s is refused: %s", (url, problem) => expect(problemOf(url, [])).toBe(problem))

  it("may name an exempt host, also over http, but with no credentials", () => {
    const exempt = ["collector.internal", "10.0.0.7", "::1"]
    expect(problemOf("http://collector.internal:4318/v1/traces", exempt)).toBeUndefined()
    expect(problemOf("http://COLLECTOR.internal./", exempt)).toBeUndefined()
    expect(problemOf("https://10.0.0.7/", exempt)).toBeUndefined()
    expect(problemOf("http://[::1]:4318/", exempt)).toBeUndefined()
    expect(problemOf("https://10.0.0.8/", exempt)).toBe(noAddress)
    expect(problemOf("http://other.internal/", exempt)).toBe(noHttps)
    expect(problemOf("http://a:b@collector.internal/", exempt)).toMatch(/without user name/)
  })
})
