import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { NameServer } from "../../src/internal/NameServer.ts"

it("accepts addresses with and without a port, and no names", () => {
  const isNameServer = Schema.is(NameServer)
  const accepted = ["10.0.0.53", "127.0.0.1:5353", "fd00::53", "[fd00::53]", "[::1]:5353", "10.0.0.53:65535"]
  const refused = [
    "",
    "dns.example",
    "10.0.0",
    "10.0.0.256",
    "10.0.0.53:0",
    "10.0.0.53:65536",
    "10.0.0.53:",
    "[10.0.0.53",
    "[g::1]"
  ]
  expect(accepted.filter(isNameServer)).toEqual(accepted)
  expect(refused.filter(isNameServer)).toEqual([])
})
