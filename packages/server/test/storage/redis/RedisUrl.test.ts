import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as RedisUrl from "../../../src/storage/redis/RedisUrl.ts"

describe("RedisUrl", () => {
  it("has a host, and by default port 6379, database 0, no TLS, no user and no password", () => {
    expect(RedisUrl.parse("redis://cache")).toEqual({
      host: "cache",
      port: 6379,
      tls: false,
      username: undefined,
      password: undefined,
      database: 0
    })
  })

  it("may have all of them, with escapes in the user and the password", () => {
    expect(RedisUrl.parse("rediss://gate%3Away:p%40s%2Fs@[::1]:6380/12")).toEqual({
      host: "::1",
      port: 6380,
      tls: true,
      username: "gate:way",
      password: "p@s/s",
      database: 12
    })
  })

  it.each([
    "cache:6379",
    "http://cache",
    "redis://",
    "redis:///0",
    "redis://cache/first",
    "redis://cache/-1",
    "redis://cache/0/1",
    "redis://cache?db=1",
    "redis://:%zz@cache",
    "redis://cache:70000"
  ])("is not %s", (text) => {
    expect(RedisUrl.parse(text)).toBe(undefined)
  })

  it("is shown by its host and port, and never in an error", () => {
    expect(RedisUrl.addressOf(RedisUrl.fromSecret(Redacted.make("redis://:hunter2@[::1]")))).toBe("[::1]:6379")
    expect(() => RedisUrl.fromSecret(Redacted.make("redis://:hunter2@cache/x"))).toThrow(
      "redisUrl is not a URL such as redis://user:password@host:6379/0, or rediss:// for TLS."
    )
  })
})
