import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Redacted, Schema } from "effect"
import * as Setting from "../src/Setting.ts"

const declarations = Setting.prefixed("APP_", {
  port: Setting.integer("port", { what: "a port", minimum: 0, maximum: 9, default: 8, description: "Port" }),
  cache: {
    size: Setting.size("cache-size", { default: undefined, description: "Cache size" }),
    expiry: {
      after: Setting.durationOrNever("cache-expiry", { maximum: Duration.hours(2), description: "Time to live" })
    }
  },
  price: Setting.number("price", { minimum: 0, default: 0.5, description: "Price" }),
  mode: Setting.literals("mode", ["slow", "fast"], { default: "slow", description: "Mode" }),
  tags: Setting.list(
    "tags",
    Schema.String.check(Schema.makeFilter((tag) => (tag === "no" ? "no is no tag" : undefined))),
    {
      allowed: "a list of tags",
      description: "Tags"
    }
  ),
  upstream: {
    url: Setting.text("upstream-url", {
      variable: "UPSTREAM_URL",
      schema: Schema.String.check(Schema.isStartingWith("http")),
      allowed: "an HTTP URL",
      default: "https://upstream.example",
      description: "URL"
    }),
    key: Setting.secret("upstream-key", {
      variable: "UPSTREAM_KEY",
      schema: Schema.Redacted(Schema.String.check(Schema.isPattern(/^\w+$/))),
      allowed: "a key of letters and digits",
      description: "Key"
    })
  }
})

const read = (environment: Record<string, string>) =>
  Setting.config(declarations).parse(ConfigProvider.fromUnknown(environment, { preserveEmptyStrings: true }))

const defaults: Setting.Values<typeof declarations> = {
  port: 8,
  cache: { size: undefined, expiry: { after: undefined } },
  price: 0.5,
  mode: "slow",
  tags: [],
  upstream: { url: "https://upstream.example", key: undefined }
}

it("shows values without the users of their URLs, and no secret", () => {
  const { port, upstream } = declarations
  expect(Setting.shown(port, "8")).toBe("8")
  expect(Setting.shown(upstream.url, "https://user:pass@upstream.example/a, http://u@b")).toBe(
    "https://…@upstream.example/a, http://…@b"
  )
  expect(Setting.shown(upstream.key, "k1")).toBeUndefined()
})

describe("settings", () => {
  it.effect("have their defaults in nested groups, from the environment and as values", () =>
    Effect.gen(function* () {
      expect(yield* read({})).toEqual(defaults)
      expect(Setting.make(declarations, {})).toEqual(defaults)
      expect(Setting.make(declarations, { cache: { expiry: { after: Duration.hours(1) } }, tags: ["a"] })).toEqual({
        ...defaults,
        cache: { size: undefined, expiry: { after: Duration.hours(1) } },
        tags: ["a"]
      })
    })
  )

  it.effect("are read from a variable that their name gives, or one of their own", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        APP_PORT: "0",
        APP_CACHE_SIZE: "1.5 KiB",
        APP_CACHE_EXPIRY: "90 minutes",
        APP_PRICE: "0.25",
        APP_MODE: "fast",
        APP_TAGS: " a, b ,,",
        UPSTREAM_URL: "http://127.0.0.1:9001",
        UPSTREAM_KEY: "k1"
      })
      expect(settings).toEqual({
        port: 0,
        cache: { size: 1536, expiry: { after: Duration.minutes(90) } },
        price: 0.25,
        mode: "fast",
        tags: ["a", "b"],
        upstream: { url: "http://127.0.0.1:9001", key: Redacted.make("k1") }
      })
      expect((yield* read({ APP_CACHE_EXPIRY: "never" })).cache.expiry.after).toBe(undefined)
    })
  )

  it.effect("outside their bounds fail with the name of the variable", () =>
    Effect.gen(function* () {
      for (const [variable, texts] of Object.entries({
        APP_PORT: ["10", "-1", "1.5", "x", ""],
        APP_CACHE_SIZE: ["0", "0 B", "-1", "1.5", "big"],
        APP_CACHE_EXPIRY: ["0 seconds", "-1 seconds", "3 hours", "Infinity", "soon"],
        APP_PRICE: ["-0.1", "NaN", "Infinity"],
        APP_MODE: ["SLOW", ""],
        APP_TAGS: ["a,no"],
        UPSTREAM_URL: ["upstream.example", "ftp://upstream.example", ""]
      })) {
        for (const text of texts) {
          const error = yield* Effect.flip(read({ [variable]: text }))
          expect([text, error.message]).toEqual([text, expect.stringContaining(variable)])
        }
      }
    })
  )

  it("of a program outside their bounds throw a sentence with key, value and bound", () => {
    const of = (values: Setting.PartialValues<typeof declarations>) => () => Setting.make(declarations, values)
    expect(of({ port: 10 })).toThrow("port is 10, which is not a port from 0 to 9.")
    expect(of({ cache: { size: 0 } })).toThrow(
      "cache.size is 0, which is not a size of at least 1 byte, such as 8 MiB."
    )
    expect(of({ cache: { expiry: { after: Duration.hours(3) } } })).toThrow(
      "cache.expiry.after is 3 hours, which is not a duration above 0 seconds and up to 2 hours, such as 30 days, or never."
    )
    expect(of({ tags: ["a", "no"] })).toThrow('tags is ["a","no"], which is not a list of tags: no is no tag.')
  })

  it.effect("that are secret are redacted, and no error shows them", () =>
    Effect.gen(function* () {
      const { upstream } = yield* read({ UPSTREAM_KEY: "k1" })
      expect(JSON.stringify(upstream)).not.toContain("k1")
      const error = yield* Effect.flip(read({ UPSTREAM_KEY: "two words" }))
      expect(error.message).toContain("UPSTREAM_KEY")
      expect(error.message).not.toContain("two words")
      expect(() => Setting.make(declarations, { upstream: { key: Redacted.make("two words") } })).toThrow(
        /^upstream\.key is not a key of letters and digits\.$/
      )
    })
  )

  it("have flags, except secrets", () => {
    const { key, url } = declarations.upstream
    expect([url.hasFlag, key.hasFlag]).toEqual([true, false])
  })
})

describe("the JSON Schema of settings", () => {
  it("has the type, the bounds and the default of each, in nested objects", () => {
    expect(Setting.jsonSchema(declarations)).toEqual({
      type: "object",
      additionalProperties: false,
      properties: {
        port: {
          type: "integer",
          minimum: 0,
          maximum: 9,
          default: 8,
          description: "Port. Allowed: a port from 0 to 9."
        },
        cache: {
          type: "object",
          additionalProperties: false,
          properties: {
            size: {
              anyOf: [{ type: "integer", exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER }, { type: "string" }],
              description: "Cache size. Allowed: a size of at least 1 byte, such as 8 MiB."
            },
            expiry: {
              type: "object",
              additionalProperties: false,
              properties: {
                after: {
                  anyOf: [{ type: "string" }, { type: "string", enum: ["never"] }],
                  default: "never",
                  description:
                    "Time to live. Allowed: a duration above 0 seconds and up to 2 hours, such as 30 days, or never."
                }
              }
            }
          }
        },
        price: { type: "number", minimum: 0, default: 0.5, description: "Price. Allowed: a number of at least 0." },
        mode: {
          type: "string",
          enum: ["slow", "fast"],
          default: "slow",
          description: "Mode. Allowed: one of slow, fast."
        },
        tags: { type: "array", items: { type: "string" }, description: "Tags. Allowed: a list of tags." },
        upstream: {
          type: "object",
          additionalProperties: false,
          properties: {
            url: {
              type: "string",
              default: "https://upstream.example",
              pattern: "^http",
              description: "URL. Allowed: an HTTP URL."
            },
            key: {
              anyOf: [
                { type: "string" },
                {
                  type: "object",
                  properties: { file: { type: "string", minLength: 1 } },
                  required: ["file"],
                  additionalProperties: false
                }
              ],
              description: 'Key. Allowed: a key of letters and digits, or { "file": "/run/secrets/name" }.'
            }
          }
        }
      }
    })
  })
})
