import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { layerWebCrypto, make, SecureRandom } from "effect/crypto/SecureRandom"
import { createHash } from "node:crypto"
import { inspect } from "node:util"
import { crc32 } from "node:zlib"
import * as KeyFormat from "../../src/access/KeyFormat.ts"

const generate = (kind: KeyFormat.KeyKind) =>
  Effect.flatMap(SecureRandom, (random) => KeyFormat.generate(random, kind)).pipe(Effect.provide(layerWebCrypto))

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

describe("KeyFormat", () => {
  it.effect("parses the kind and the hash of a key without a database [spec D14]", () =>
    Effect.gen(function* () {
      for (const [kind, form] of [
        ["ordinary", /^mg_sk_[0-9A-Za-z]{38}$/],
        ["management", /^mg_mk_[0-9A-Za-z]{38}$/],
        ["ephemeral", /^mg_ek_[0-9A-Za-z]{38}$/]
      ] as const) {
        const generated = yield* generate(kind)
        const key = Redacted.value(generated.key)
        expect(key).toMatch(form)
        expect(KeyFormat.parse(key)).toEqual(Result.succeed({ kind, hash: generated.hash }))
        expect(generated.hash).toBe(createHash("sha256").update(key).digest("hex"))
        expect(KeyFormat.fromText(generated.key)).toEqual(Result.succeed(generated))
        expect(generated.label).toBe(`${key.slice(0, 6)}…${key.slice(-3)}`)
      }
    })
  )

  it.effect("ends a key with the CRC-32 of the characters before it, in base62", () =>
    Effect.gen(function* () {
      const key = Redacted.value((yield* generate("ordinary")).key)
      const sum = key
        .slice(-6)
        .split("")
        .reduce((total, char) => total * 62 + alphabet.indexOf(char), 0)
      expect(sum).toBe(crc32(key.slice(0, -6)))
    })
  )

  it.effect("rejects every one-character typo by its checksum", () =>
    Effect.gen(function* () {
      const key = Redacted.value((yield* generate("ordinary")).key)
      for (let i = 6; i < key.length; i++) {
        const other = alphabet.charAt((alphabet.indexOf(key.charAt(i)) + 1) % 62)
        expect(KeyFormat.parse(key.slice(0, i) + other + key.slice(i + 1))).toEqual(Result.fail("checksum"))
      }
      // The checksum covers the kind: an ordinary key cannot be turned into a management key.
      expect(KeyFormat.parse(key.replace("mg_sk_", "mg_mk_"))).toEqual(Result.fail("checksum"))
    })
  )

  it.effect("rejects a text that does not have the format of a key", () =>
    Effect.gen(function* () {
      const key = Redacted.value((yield* generate("ordinary")).key)
      for (const text of [
        "",
        "mg_sk_",
        key.slice(0, -1),
        `${key}a`,
        ` ${key}`,
        `${key}\n`,
        key.toUpperCase(),
        "ä".repeat(44)
      ]) {
        expect(KeyFormat.parse(text)).toEqual(Result.fail("malformed"))
      }
    })
  )

  it.effect("draws every character with the same probability", () =>
    Effect.gen(function* () {
      let state = 1
      const byte = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24
      const random = make((size) => Uint8Array.from({ length: size }, byte))
      const counts = new Map<string, number>()
      for (let i = 0; i < 2000; i++) {
        for (const char of Redacted.value((yield* KeyFormat.generate(random, "ordinary")).key).slice(6, 38)) {
          counts.set(char, (counts.get(char) ?? 0) + 1)
        }
      }
      // 64,000 characters, 1032 of each on average. Bytes modulo 62 would give the first eight
      // 1250.
      expect(counts.size).toBe(62)
      expect(Math.max(...counts.values())).toBeLessThan(1180)
      expect(Math.min(...counts.values())).toBeGreaterThan(890)
    })
  )

  it.effect("never shows the key when it is printed", () =>
    Effect.gen(function* () {
      const generated = yield* generate("ordinary")
      expect(JSON.stringify(generated)).not.toContain(Redacted.value(generated.key))
      expect(inspect(generated, { depth: 9 })).not.toContain(Redacted.value(generated.key))
    })
  )
})
