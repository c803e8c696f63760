/** `examples/langchain`: the reranker and the transcription loader, in chains of LangChain. */
import { ContextualCompressionRetriever } from "@langchain/classic/retrievers/contextual_compression"
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory"
import { BaseCallbackHandler } from "@langchain/core/callbacks/base"
import { Document } from "@langchain/core/documents"
import { RunnableLambda, RunnablePassthrough, RunnableSequence } from "@langchain/core/runnables"
import { SyntheticEmbeddings } from "@langchain/core/utils/testing"
import { GatewayRerank } from "@model-gateway/example-langchain/GatewayRerank"
import { GatewayTranscriptionLoader } from "@model-gateway/example-langchain/GatewayTranscriptionLoader"
import { type Client, createClient, NotFound, reveal } from "@model-gateway/node/promise"
import { DtmfTone } from "@model-gateway/sandbox"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { folderOf } from "./Example.ts"
import { printedBy } from "./printedBy.ts"
import { losingFirstResponses, neverResponding } from "./LostResponses.ts"

const { key, managementKey, origin } = inject("gateway")
const baseUrl = `${origin}/api/v1`
const model = "sandbox/bm25"
const question = "forgotten password"
const best = "Reset a forgotten password"

const documents = ["Billing", "Close your account", best, "A password manager"].map(
  (pageContent, index) => new Document({ pageContent, metadata: { page: index }, id: `id-${index}` })
)

const aNumber: unknown = expect.any(Number)
const metadataOf = (of: Document | undefined): Readonly<Record<string, unknown>> => of?.metadata ?? {}

/** What a run reports to the callbacks of its caller. */
class Recorder extends BaseCallbackHandler {
  override readonly name = "Recorder"
  readonly events: Array<unknown> = []
  override handleChainStart(
    ...[, , , , , , , runName]: Parameters<NonNullable<BaseCallbackHandler["handleChainStart"]>>
  ) {
    this.events.push(`start ${runName}`)
  }
  override handleChainError(error: unknown) {
    this.events.push(error)
  }
  override handleCustomEvent(name: string, data: unknown) {
    this.events.push({ name, data })
  }
}

let folder: string
let gateway: Client
let store: MemoryVectorStore

const retrieverOf = (baseCompressor: GatewayRerank) =>
  new ContextualCompressionRetriever({ baseRetriever: store.asRetriever(4), baseCompressor })

/** What a call rejects with. */
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it succeeded",
    (error: unknown) => error
  )

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  writeFileSync(join(folder, "call.wav"), DtmfTone.wav("555 0199"))
  gateway = await createClient({ apiKey: key, baseUrl })
  store = await MemoryVectorStore.fromDocuments(documents, new SyntheticEmbeddings())
})

afterAll(async () => {
  await gateway.close()
  rmSync(folder, { recursive: true, force: true })
})

describe("the reranker", () => {
  it("puts the documents of a vector store in order, and keeps top_n of them with their metadata", async () => {
    const retrieved = await store.asRetriever(4).invoke(question)
    expect(retrieved[0]?.pageContent).not.toBe(best)
    const ranked = await retrieverOf(new GatewayRerank(gateway, { model, top_n: 2 })).invoke(question)
    expect(ranked).toEqual([
      { pageContent: best, id: "id-2", metadata: { page: 2, relevanceScore: aNumber } },
      { pageContent: "A password manager", id: "id-3", metadata: { page: 3, relevanceScore: aNumber } }
    ])
    const [first, second] = ranked.map((document) => Number(metadataOf(document)["relevanceScore"]))
    expect(first).toBeGreaterThan(second ?? Infinity)
  })

  it("reports its run and the cost to the callbacks of the retriever", async () => {
    const recorder = new Recorder()
    await retrieverOf(new GatewayRerank(gateway, { model })).invoke(question, { callbacks: [recorder] })
    expect(recorder.events).toMatchObject([
      "start GatewayRerank",
      { name: "rerank", data: { provider: "sandbox", usage: { cost: 0.001 } } }
    ])
  })

  it("asks nothing if nothing was retrieved", async () => {
    expect(await new GatewayRerank(gateway, { model: "unknown/model" }).compressDocuments([], question)).toEqual([])
  })

  it("fails with the client's own error, which the callbacks see", async () => {
    const recorder = new Recorder()
    const retriever = retrieverOf(new GatewayRerank(gateway, { model: "unknown/model" }))
    const error = await failureOf(retriever.invoke(question, { callbacks: [recorder] }))
    expect(error).toBeInstanceOf(NotFound)
    expect(recorder.events).toEqual(["start GatewayRerank", error])
  })

  it("ends its request when the chain is aborted", async () => {
    const requests = { came: 0, closed: 0 }
    const server = await neverResponding(requests)
    const client = await createClient({ apiKey: key, baseUrl: server.baseUrl })
    const rerank = new GatewayRerank(client, { model })
    try {
      const chains = [
        // A chain hands its signal on to its steps …
        RunnableSequence.from([
          { query: new RunnablePassthrough<string>(), documents: store.asRetriever(4) },
          rerank.runnable
        ]),
        // … and a retriever has none, but a step of a chain that calls it has.
        RunnableLambda.from((query: string) => retrieverOf(rerank).invoke(query))
      ]
      for (const [index, chain] of chains.entries()) {
        const stop = new AbortController()
        const failure = failureOf(chain.invoke(question, { signal: stop.signal }))
        await expect.poll(() => requests.came).toBe(index + 1)
        stop.abort(new Error("stopped"))
        expect(await failure).toEqual(new Error("stopped"))
        await expect.poll(() => requests.closed).toBe(index + 1)
      }
    } finally {
      await client.close()
      server.close()
    }
  })
})

describe("the loader", () => {
  const words = "5550199"
  const said = (of: Document | undefined) => of?.pageContent.replaceAll(" ", "")
  const settings = { model: "sandbox/tones" } as const

  it("reads a file, a Blob, a File and a URL", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/call.wav") response.end(readFileSync(join(folder, "call.wav")))
      else response.writeHead(404).end()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const url = (name: string) => {
      const port = typeof address === "object" && address !== null ? address.port : 0
      return new URL(`http://127.0.0.1:${port}/${name}`)
    }
    try {
      const audio = [readFileSync(join(folder, "call.wav"))]
      const load = async (source: string | URL | Blob, filename?: string) => {
        const named = filename === undefined ? settings : { ...settings, filename }
        const [document, ...others] = await new GatewayTranscriptionLoader(gateway, source, named).load()
        expect(others).toEqual([])
        return [said(document), metadataOf(document)["source"]]
      }
      const path = join(folder, "call.wav")
      expect(await load(path)).toEqual([words, path])
      expect(await load(new Blob(audio), "call.wav")).toEqual([words, "blob"])
      expect(await load(new File(audio, "call.wav"))).toEqual([words, "call.wav"])
      expect(await load(url("call.wav"))).toEqual([words, url("call.wav").href])
      await expect(load(url("none.wav"))).rejects.toThrow("none.wav responded with 404")
    } finally {
      server.close()
    }
  })

  it("has the segments in the metadata, or a document for each", async () => {
    const load = (by: "segment" | "transcript") =>
      new GatewayTranscriptionLoader(gateway, join(folder, "call.wav"), {
        ...settings,
        by,
        timestamp_granularities: ["word", "segment"]
      }).load()
    const [whole] = await load("transcript")
    expect(whole?.metadata).toMatchObject({
      model: "sandbox/tones",
      language: "zxx",
      usage: { cost: aNumber }
    })
    expect(metadataOf(whole)["segments"]).toHaveLength(2)
    expect(metadataOf(whole)["words"]).toHaveLength(words.length)
    const segments = await load("segment")
    expect(segments.map(said)).toEqual(["555", "0199"])
    expect(segments[0]?.metadata).toMatchObject({
      id: 0,
      start: aNumber,
      end: aNumber,
      language: "zxx"
    })
  })

  it("fails with the client's own error, and ends at its signal", async () => {
    const path = join(folder, "call.wav")
    const load = (model: string, signal?: AbortSignal) =>
      new GatewayTranscriptionLoader(gateway, path, signal === undefined ? { model } : { model, signal }).load()
    expect(await failureOf(load("unknown/model"))).toBeInstanceOf(NotFound)
    expect(await failureOf(load("sandbox/tones", AbortSignal.abort(new Error("stopped"))))).toEqual(
      new Error("stopped")
    )
  })
})

it("is charged once if .withRetry() repeats it after a lost response", async () => {
  const management = await createClient({ apiKey: managementKey, baseUrl })
  const created = await management.createKey({ name: "retries" })
  const seen = new Map<string, ReadonlyArray<string>>()
  const lossy = await losingFirstResponses(origin, seen)
  const apiKey = reveal(created.key)
  // Without retries of its own, so that LangChain repeats the call.
  const client = await createClient({ apiKey, baseUrl: lossy.baseUrl, retryPolicy: { maxRetries: 0 } })
  const direct = await createClient({ apiKey, baseUrl })
  try {
    const retriever = RunnableLambda.from((query: string) =>
      retrieverOf(new GatewayRerank(client, { model })).invoke(query)
    )
    const loader = RunnableLambda.from((path: string) =>
      new GatewayTranscriptionLoader(client, path, { model: "sandbox/tones" }).load()
    )
    const [ranked, loaded] = await Promise.all([
      retriever.withRetry({ stopAfterAttempt: 2 }).invoke(question),
      loader.withRetry({ stopAfterAttempt: 2 }).invoke(join(folder, "call.wav"))
    ])
    expect(ranked[0]?.pageContent).toBe(best)
    expect(metadataOf(loaded[0])["usage"]).toMatchObject({ cost: 0.00021 })
    for (const path of ["/api/v1/rerank", "/api/v1/audio/transcriptions"]) {
      const [first, second, ...others] = seen.get(path) ?? []
      expect(first).toMatch(/./)
      expect([second, ...others]).toEqual([first])
    }
    const { usage } = await direct.currentKey()
    expect(usage).toBeCloseTo(0.00121, 9)

    // What was answered is asked anew.
    await retriever.invoke(question)
    expect((await direct.currentKey()).usage).toBeCloseTo(usage + 0.001, 9)
  } finally {
    await Promise.all([management.close(), client.close(), direct.close()])
    lossy.close()
  }
})

it("runs the program, which also searches recordings", async () => {
  const printed = await printedBy(
    () => import("@model-gateway/example-langchain/main"),
    ["555", join(folder, "call.wav")]
  )
  expect(printed[0]).toEqual([aNumber, "555"])
})

it("shows code in the guide that the program has", () => {
  const guide = readFileSync(join(folderOf("langchain"), "../../docs/client/langchain.md"), "utf8")
  const blocks = [...guide.matchAll(/^```typescript\n([^]*?)^```$/gm)].map(([, code = ""]) => code.trim())
  const sources = ["langchain", "llamaindex"].map((name) => readFileSync(join(folderOf(name), "src/main.ts"), "utf8"))
  const lines = sources.join("\n").replaceAll(/^ +/gm, "")
  expect(blocks).toHaveLength(2)
  for (const block of blocks) expect(lines).toContain(block.replaceAll(/^ +/gm, ""))
})
