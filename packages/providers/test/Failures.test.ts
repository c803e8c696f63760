// What each adapter makes of each failure of its upstream, and that it reads a response with a field
// that is not documented. The results are the tables of the reference page.
//
// A new adapter is in here by itself, with its double. One whose double has another name needs an
// entry in `shared`, one without built-in models an entry in `support/models.ts`.
import { assert, describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Predicate } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Offer } from "@model-gateway/offers/Offer"
import type { ProviderError, Reason } from "@model-gateway/offers/ProviderError"
import { type Double, type Scripted, startDouble, type StartOptions } from "@model-gateway/test-doubles/Double"
import type { JobDouble } from "@model-gateway/test-doubles/JobDouble"
import { startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { startVllmDouble } from "@model-gateway/test-doubles/VllmDouble"
import { readdirSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import { adapters, type AnyAdapter } from "../src/Adapters.ts"
import { credentialOf, modelsOf, pathOf } from "./support/models.ts"
import { expectTables, table } from "./support/table.ts"
import { services, speaking, started } from "./support/transcription.ts"
import { callsOf, key, request } from "./support/videoJobs.ts"

/** The adapters that call an upstream over HTTP. */
const overHttp = adapters.filter(({ defaultBaseUrl }) => defaultBaseUrl !== "")

const offersAt = (adapter: AnyAdapter, url: string, more: Partial<Upstream> = {}) =>
  adapter.offers(
    { name: adapter.name, baseUrl: `${url}${pathOf(adapter)}`, credential: credentialOf(adapter, key), ...more },
    modelsOf(adapter, "unused")
  )

/** The first offer of each kind. */
const firstOfEach = (offers: ReadonlyArray<Offer>): ReadonlyArray<Offer> =>
  offers.filter((offer, at) => offers.findIndex(({ kind }) => kind === offer.kind) === at)

/** A request that the offer takes. A video is only submitted. */
const call = (offer: Offer): Effect.Effect<unknown, ProviderError> => {
  const { credential = assert.fail("no credential") } = offer
  switch (offer.kind) {
    case "rerank":
      return offer.run({ query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }] }, credential)
    case "transcription":
      return offer.run(speaking("one two"), credential)
    case "video":
      return offer.submit({ request, token: "token" }, credential)
  }
}

// Failures

const invalid = { error: { message: "a wrong value" } }
const wait = { "retry-after": "7" }

/** The failures, as the table calls them. */
const failures: Readonly<Record<string, Scripted>> = {
  "400": { status: 400, body: invalid },
  "401": { status: 401 },
  "402": { status: 402 },
  "403": { status: 403 },
  "404": { status: 404 },
  "413": { status: 413 },
  "422": { status: 422, body: invalid },
  "429": { status: 429, headers: wait },
  "500": { status: 500 },
  "503": { status: 503, headers: wait },
  "half a body": { fault: "cutBody" },
  "connection reset": { fault: "reset" },
  "not JSON": { headers: { "content-type": "text/html" }, body: "<html>maintenance</html>" },
  "no response": { fault: "hang" }
}

/** The reason that every adapter must give for a failure. For others, each has its own. */
const expected: Readonly<Record<string, Reason["_tag"]>> = {
  "401": "Unauthorized",
  "402": "OutOfCredit",
  "half a body": "ConnectionLost",
  "connection reset": "ConnectionLost",
  "not JSON": "BadResponse",
  "no response": "Timeout"
}

const waitOf = (reason: Reason): number | undefined =>
  "retryAfter" in reason && reason.retryAfter !== undefined ? Duration.toSeconds(reason.retryAfter) : undefined

/** By adapter, what it makes of each failure. */
const results = new Map<string, ReadonlyArray<string>>()

/** One word for the kinds of an adapter, if they agree. */
const cellOf = (tags: ReadonlyArray<string>): string => [...new Set(tags)].join(", ")

const failEach = Effect.fnUntraced(function* (adapter: AnyAdapter) {
  const double = yield* started(() => startDouble({ answerTo: () => ({ status: 404, body: null }) }))
  const offers = firstOfEach(yield* offersAt(adapter, double.url))
  const hurried = firstOfEach(yield* offersAt(adapter, double.url, { timeLimit: "200 millis" }))
  const cells = yield* Effect.forEach(Object.entries(failures), ([failure, scripted]) =>
    Effect.map(
      Effect.forEach(failure === "no response" ? hurried : offers, (offer) => {
        double.always(scripted)
        return Effect.map(Effect.flip(call(offer)), ({ reason }) => {
          const where = `${failure} at ${offer.publicId}`
          if (Object.hasOwn(expected, failure)) assert.strictEqual(reason._tag, expected[failure], where)
          if (scripted.headers === wait && reason._tag !== "OutOfCredit") assert.strictEqual(waitOf(reason), 7, where)
          return reason._tag
        })
      }),
      cellOf
    )
  )
  results.set(adapter.name, cells)
}, Effect.provide(services))

// Responses

type Start = (options: StartOptions) => Promise<Double | JobDouble>

/** The doubles that stand for several services, or that have a path. */
const shared: Readonly<Record<string, Start>> = {
  groq: (options) =>
    startOpenAiDouble({
      ...options,
      path: "/openai/v1/audio/transcriptions",
      models: { "whisper-large-v3-turbo": { verbose: true } }
    }),
  // A server of one's own has no default base URL, whose path would be added.
  vllm: async (options) => {
    const double = await startVllmDouble(options)
    return { ...double, url: `${double.url}/v1` }
  }
}

/** The adapters whose upstream is a gateway, which other tests run. */
const withoutDouble = ["gateway"]

/** Headers that concern the connection of a request alone. */
const ofConnection = ["connection", "content-length", "transfer-encoding"]

const folder = new URL("../../../tests/doubles/src/", import.meta.url)

const isStart = (value: unknown): value is Start => typeof value === "function"

/**
 * The double of an adapter, by its name: `start` of `plain/Jina.mjs`, or `startFalDouble` of
 * `FalDouble.mjs`.
 */
const startOf = async (adapter: AnyAdapter): Promise<Start> => {
  const own = shared[adapter.name]
  if (own !== undefined) return own
  const places = [`plain/${adapter.name}.mjs`, `${adapter.name}double.mjs`]
  const files = readdirSync(folder, { encoding: "utf8", recursive: true }).map((each) => each.replaceAll("\\", "/"))
  const file = files.find((each) => places.includes(each.toLowerCase()))
  if (file === undefined) return assert.fail(`write the double of ${adapter.name} in tests/doubles/src/plain`)
  const module: unknown = await import(new URL(file, folder).href)
  const name = file.startsWith("plain/") ? "start" : `start${file.replace(".mjs", "")}`
  const start = Predicate.hasProperty(module, name) ? module[name] : undefined
  return isStart(start) ? start : assert.fail(`${file} does not export ${name}`)
}

/** Adds a field to an object, as `JSON.parse` meets each one, those in lists too. */
const withNewField = (_: string, value: unknown): unknown =>
  Predicate.isObject(value) ? { ...value, x_new: { of: "this year" } } : value

/** A server that adds a field to each JSON object that the double answers. */
const startAdding = async (double: Double) => {
  const answer = async ({ headers, method = "GET", url: path = "" }: IncomingMessage, sent: Buffer) => {
    const response = await fetch(`${double.url}${path}`, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        typeof value === "string" && !ofConnection.includes(name) ? [[name, value]] : []
      ),
      ...(sent.length === 0 ? {} : { body: sent })
    })
    const text = (await response.text()).replaceAll(double.url, url)
    const body = /^[{[]/.test(text) ? JSON.stringify(JSON.parse(text, withNewField)) : text
    return { status: response.status, type: response.headers.get("content-type") ?? "text/plain", body }
  }
  const server = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      void answer(request, Buffer.concat(parts)).then(({ body, status, type }) =>
        response.writeHead(status, { "content-type": type }).end(body)
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url, close }
}

const readMore = Effect.fnUntraced(function* (adapter: AnyAdapter) {
  const start = yield* Effect.promise(() => startOf(adapter))
  const double = yield* started(() => start({ keys: [key] }))
  const adding = yield* Effect.acquireRelease(
    Effect.promise(() => startAdding(double)),
    ({ close }) => Effect.promise(close)
  )
  for (const offer of firstOfEach(yield* offersAt(adapter, adding.url))) {
    if (offer.kind === "video") {
      const { follow, submit } = callsOf(offer)
      assert.strictEqual((yield* follow(yield* submit(request), request)).status, "completed")
    } else yield* call(offer)
  }
}, Effect.provide(services))

describe("every adapter", () => {
  for (const adapter of overHttp) {
    it.live(`reports the failures of its upstream: ${adapter.name}`, () => failEach(adapter))
  }

  for (const adapter of overHttp.filter(({ name }) => !withoutDouble.includes(name))) {
    it.live(`reads a response with a field that is new: ${adapter.name}`, () => readMore(adapter))
  }

  it("is in the tables of the reference page (written by vitest run --update)", async () => {
    const rows = [...results].map(([name, cells]) => [`\`${name}\``, ...cells])
    expect(rows.length).toBe(overHttp.length)
    const names = Object.keys(failures)
    const half = names.indexOf("429")
    const part = (from: number, to: number) =>
      table(
        ["", ...names.slice(from, to)],
        rows.map(([name = "", ...cells]) => [name, ...cells.slice(from, to)])
      )
    await expectTables(new URL("../../../docs/reference/provider-failures.md", import.meta.url), [
      part(0, half),
      part(half, names.length)
    ])
  })
})
