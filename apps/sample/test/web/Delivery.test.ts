// The transferred size of the built page.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { serve } from "./support/Gateway.ts"

interface Answer {
  readonly coding: string | undefined
  readonly bytes: Buffer
}

const get = (url: string, accept: string) =>
  Effect.callback<Answer>((resume) => {
    request(url, { agent: false, headers: { "accept-encoding": accept } }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () =>
        resume(Effect.succeed({ coding: response.headers["content-encoding"], bytes: Buffer.concat(chunks) }))
      )
    }).end()
  })

const unpack = { br: brotliDecompressSync, gzip: gunzipSync }

describe("the page", () => {
  it.live("is compressed, with all its files, to less than a third of its size", () =>
    Effect.gen(function* () {
      const { origin } = yield* Effect.acquireRelease(
        Effect.promise(() => serve()),
        ({ stop }) => Effect.promise(stop)
      )
      const page = (yield* get(origin, "identity")).bytes.toString()
      const loaded = Array.from(page.matchAll(/(?:src|href)="\.(\/[^"]+)"/g), ([, path]) => `${origin}${path}`)
      assert.isAtLeast(loaded.length, 2, page)
      const sizes = { identity: 0, br: 0, gzip: 0 }
      for (const url of [origin, ...loaded]) {
        const plain = yield* get(url, "identity")
        assert.isUndefined(plain.coding)
        sizes.identity += plain.bytes.length
        for (const coding of ["br", "gzip"] as const) {
          const answer = yield* get(url, coding)
          assert.strictEqual(answer.coding, coding, url)
          assert.isTrue(unpack[coding](answer.bytes).equals(plain.bytes), url)
          sizes[coding] += answer.bytes.length
        }
      }
      assert.isBelow(sizes.gzip, sizes.identity / 3)
      assert.isBelow(sizes.br, sizes.gzip)
    })
  )
})
