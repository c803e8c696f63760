import { ClientError, GatewayError, Generations, type Rerank, type Video } from "@model-gateway/core"
import {
  type Client,
  createClient,
  errorResponse,
  InvalidBaseUrl,
  InvalidResponse,
  NotFound,
  type Options,
  PayloadTooLarge,
  PaymentRequired,
  receiveUpload,
  receiveWebhook,
  reveal,
  TransportError,
  WebhookError
} from "@model-gateway/node/promise"
import { getEventListeners, once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { ReadableStream } from "node:stream/web"
import { afterEach, describe, expect, expectTypeOf, it } from "vitest"

const ranking = { id: "r1", model: "m", results: [{ index: 0, relevance_score: 1, document: { text: "pears" } }] }

const json = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const envelope = (code: number) => ({ error: { code, message: "no credits left", metadata: null } })

interface Received {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const cleanup: Array<() => unknown> = []

afterEach(async () => {
  for (const end of cleanup.splice(0).toReversed()) await end()
})

/** A server on loopback, and the requests that it received. */
const serve = async (answer: (received: Received, number: number) => void) => {
  const received: Array<Received> = []
  const waiting: Array<(received: Received) => void> = []
  const server = createServer((request, response) => {
    request.resume()
    received.push({ request, response })
    for (const wake of waiting.splice(0)) wake({ request, response })
    answer({ request, response }, received.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  cleanup.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    received,
    /** The next request, as soon as it arrives. */
    next: () => new Promise<Received>((resolve) => waiting.push(resolve)),
    connections: () =>
      new Promise<number>((resolve) => server.getConnections((error, count) => resolve(error === null ? count : 0)))
  }
}

const clientOf = async (options: Options): Promise<Client> => {
  const client = await createClient({ apiKey: "mg_sk_test", ...options })
  cleanup.push(() => client.close())
  return client
}

const request: Rerank.Request = { model: "m", query: "pears", documents: ["pears"] }

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error
  )

describe("createClient", () => {
  it("resolves with the response of an operation", async () => {
    const { baseUrl } = await serve(({ response }) => json(response, ranking))
    expect(await (await clientOf({ baseUrl })).rerank(request)).toEqual(ranking)
  })

  it("types each method by what it resolves with", () => {
    expectTypeOf<Client["rerank"]>().returns.resolves.toEqualTypeOf<Rerank.Response>()
    expectTypeOf<Parameters<Client["rerank"]>[0]>().toEqualTypeOf<Rerank.Request>()
    expectTypeOf<{ idempotencyKey: string; signal: AbortSignal }>().toExtend<Parameters<Client["rerank"]>[1]>()
    expectTypeOf<Client["videoContent"]>().returns.toEqualTypeOf<ReadableStream<Uint8Array>>()
    expectTypeOf<Client["awaitVideo"]>().returns.resolves.toEqualTypeOf<Video.Job>()
    expectTypeOf<{ signal: AbortSignal }>().toExtend<Parameters<Client["currentKey"]>[0]>()
    expectTypeOf<Parameters<Client["updateKey"]>["length"]>().toEqualTypeOf<2 | 3>()
  })

  it("rejects with an instance of the class of the error", async () => {
    const { baseUrl } = await serve(({ response }) => json(response, envelope(402), 402))
    const error = await rejection((await clientOf({ baseUrl })).rerank(request))
    expect(error).toBeInstanceOf(PaymentRequired)
    expect(PaymentRequired).toBe(GatewayError.PaymentRequired)
    expect(error).toMatchObject({ status: 402, operation: "rerank", attempts: 1 })
    expect(String(error)).toContain("no credits left")
  })

  it("rejects with the errors of a call without a valid response", async () => {
    const { baseUrl } = await serve(({ response }) => response.end("<html>"))
    expect(await rejection((await clientOf({ baseUrl })).currentKey())).toBeInstanceOf(InvalidResponse)
    const refused = await clientOf({ baseUrl: "http://127.0.0.1:1/api/v1", retryPolicy: { maxRetries: 0 } })
    expect(await rejection(refused.currentKey())).toBeInstanceOf(TransportError)
    expect(TransportError).toBe(ClientError.TransportError)
  })

  it("uses a call's own retry policy and idempotency key", async () => {
    const { baseUrl, received } = await serve(({ response }) => json(response, envelope(503), 503))
    const options = { idempotencyKey: "order-1", retryPolicy: { maxRetries: 0 } }
    const error = await rejection((await clientOf({ baseUrl })).rerank(request, options))
    expect(error).toMatchObject({ status: 503, attempts: 1, idempotencyKey: "order-1" })
    expect(received.map(({ request }) => request.headers["idempotency-key"])).toEqual(["order-1"])
  })

  it("keeps the keys of two clients apart", async () => {
    const { baseUrl, received } = await serve(({ response }) => json(response, ranking))
    const [ordinary, other] = [
      await clientOf({ baseUrl, apiKey: "first" }),
      await clientOf({ baseUrl, apiKey: "second" })
    ]
    await ordinary.rerank(request)
    await other.rerank(request)
    await ordinary.close()
    await other.rerank(request)
    expect(received.map(({ request }) => request.headers.authorization)).toEqual([
      "Bearer first",
      "Bearer second",
      "Bearer second"
    ])
  })

  it("asks a function for the key again after the gateway rejected it", async () => {
    const keys = ["expired", "current"]
    const { baseUrl, received } = await serve(({ request, response }) =>
      request.headers.authorization === "Bearer current" ? json(response, ranking) : json(response, envelope(401), 401)
    )
    await (await clientOf({ baseUrl, apiKey: async () => keys.shift() ?? "none" })).rerank(request)
    expect(received).toHaveLength(2)
  })

  it("runs an operation that has no method", async () => {
    const { baseUrl, received } = await serve(({ response }) => json(response, envelope(404), 404))
    expect(await rejection((await clientOf({ baseUrl })).run(Generations.getGeneration("gen-1")))).toBeInstanceOf(
      NotFound
    )
    expect(received[0]?.request.url).toContain("gen-1")
  })

  it("hides new keys from JSON, and reveals them", async () => {
    const token = { key: "mg_ek_secret", expires_at: "2026-11-22T12:00:00.000Z" }
    const { baseUrl } = await serve(({ response }) => json(response, token))
    const { key } = await (await clientOf({ baseUrl })).createEphemeralKey({ operations: ["rerank"] })
    expect(JSON.stringify(key)).not.toContain("secret")
    expect(reveal(key)).toBe("mg_ek_secret")
  })

  it("rejects if the base URL is not the address of a gateway", async () => {
    await expect(createClient({ apiKey: "k", baseUrl: "http://127.0.0.1/v1" })).rejects.toBeInstanceOf(InvalidBaseUrl)
  })

  it("rejects if the key is missing", async () => {
    await expect(createClient()).rejects.toThrow("MODEL_GATEWAY_API_KEY")
  })
})

describe("a signal", () => {
  it("that was aborted before the call sends nothing", async () => {
    const { baseUrl, received } = await serve(({ response }) => json(response, ranking))
    const client = await clientOf({ baseUrl })
    const signal = AbortSignal.abort(new Error("not now"))
    expect(await rejection(client.rerank(request, { signal }))).toBe(signal.reason)
    expect(await rejection(client.videoContent("vid_1", { signal }).getReader().read())).toBe(signal.reason)
    expect(received).toEqual([])
  })

  it("rejects a running call with its reason and closes the request", async () => {
    const { baseUrl, next } = await serve(() => {})
    const controller = new AbortController()
    const arrives = next()
    const call = rejection((await clientOf({ baseUrl })).rerank(request, { signal: controller.signal }))
    const { response } = await arrives
    const closes = once(response, "close")
    controller.abort()
    expect(await call).toBe(controller.signal.reason)
    await closes
  })

  it("ends the wait before a retry", async () => {
    const { baseUrl, next, received } = await serve(({ response }) => {
      response.writeHead(503, { "retry-after": "30", "content-type": "application/json" })
      response.end(JSON.stringify(envelope(503)))
    })
    const controller = new AbortController()
    const arrives = next()
    const call = rejection((await clientOf({ baseUrl })).rerank(request, { signal: controller.signal }))
    const { response } = await arrives
    if (!response.closed) await once(response, "close")
    controller.abort()
    expect(await call).toBe(controller.signal.reason)
    expect(received).toHaveLength(1)
  })

  it("fails a download with its reason, rather than ending it as if it were complete", async () => {
    const { baseUrl, next } = await serve(({ response }) => {
      response.writeHead(200, { "content-type": "video/mp4", "content-length": 100 }).write("half")
    })
    const controller = new AbortController()
    const arrives = next()
    const reader = (await clientOf({ baseUrl })).videoContent("vid_1", { signal: controller.signal }).getReader()
    expect((await reader.read()).value).toHaveLength(4)
    const closes = once((await arrives).response, "close")
    controller.abort()
    expect(await rejection(reader.read())).toBe(controller.signal.reason)
    await closes
  })
})

it("a signal of many calls keeps nothing of those that ended", async () => {
  const { baseUrl } = await serve(({ request, response }) =>
    request.method === "GET" ? response.end("all of it") : json(response, ranking)
  )
  const client = await clientOf({ baseUrl })
  const { signal } = new AbortController()
  await client.rerank(request, { signal })
  await new Response(client.fileContent("file_1", { signal })).text()
  await client.fileContent("file_1", { signal }).cancel()
  expect(getEventListeners(signal, "abort")).toEqual([])
})

describe("a stream of bytes", () => {
  it("yields the bytes of the response", async () => {
    const { baseUrl } = await serve(({ response }) => response.writeHead(200, { "content-length": 9 }).end("all of it"))
    expect(await new Response((await clientOf({ baseUrl })).fileContent("file_1")).text()).toBe("all of it")
  })

  it("fails with the error of the operation", async () => {
    const { baseUrl } = await serve(({ response }) => json(response, envelope(404), 404))
    const read = async () => {
      for await (const _ of (await clientOf({ baseUrl })).fileContent("file_1")) throw new Error("bytes")
    }
    expect(await rejection(read())).toBeInstanceOf(NotFound)
  })

  it("closes the request when its reader stops", async () => {
    const { baseUrl, next } = await serve(({ response }) => {
      response.writeHead(200, { "content-length": 100 }).write("half")
    })
    const arrives = next()
    for await (const chunk of (await clientOf({ baseUrl })).fileContent("file_1")) {
      expect(chunk).toHaveLength(4)
      break
    }
    const { response } = await arrives
    if (!response.closed) await once(response, "close")
  })
})

describe("close", () => {
  it("rejects running calls, fails open downloads and ends all connections", async () => {
    const { baseUrl, connections, next } = await serve(({ request, response }) => {
      if (request.method === "GET") response.writeHead(200, { "content-length": 100 }).write("half")
    })
    const client = await clientOf({ baseUrl })
    const reader = client.fileContent("file_1").getReader()
    await reader.read()
    const arrives = next()
    const call = rejection(client.rerank(request))
    const { response } = await arrives
    const closes = once(response, "close")
    await client.close()
    expect(await call).toMatchObject({ name: "AbortError", message: "The client is closed." })
    expect(await rejection(reader.read())).toMatchObject({ name: "AbortError" })
    await closes
    await expect.poll(connections).toBe(0)
    expect(await rejection(client.rerank(request))).toMatchObject({ name: "AbortError" })
    await client.close()
  })

  it("happens at the end of a block with await using", async () => {
    const { baseUrl, connections } = await serve(({ response }) => json(response, ranking))
    {
      await using client = await createClient({ apiKey: "k", baseUrl })
      await client.rerank(request)
      expect(await connections()).toBe(1)
    }
    await expect.poll(connections).toBe(0)
  })
})

describe("a server", () => {
  it("receives an upload on the disk, and deletes it", async () => {
    const form = new FormData()
    form.append("file", new File(["hello"], "notes.txt"))
    const request = () => new Request("http://127.0.0.1", { method: "POST", body: form })
    const upload = await receiveUpload(request())
    expect([upload.filename, await upload.file.text()]).toEqual(["notes.txt", "hello"])
    await upload.remove()
    expect(await rejection(upload.file.text())).toBeInstanceOf(Error)
    const refused = await rejection(receiveUpload(request(), { maxBytes: 4 }))
    expect(refused).toBeInstanceOf(PayloadTooLarge)
    expect(errorResponse(refused)).toMatchObject({ status: 413 })
  })

  it("receives webhooks, and rejects other requests", async () => {
    const request = new Request("http://127.0.0.1", { method: "POST", body: "{}" })
    const error = await rejection(receiveWebhook(request, { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }))
    expect(error).toBeInstanceOf(WebhookError)
    expect(errorResponse(error)).toMatchObject({ status: 400 })
  })
})
