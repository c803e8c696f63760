// One script for every way to reach the tools: a process over stdio and the gateway's /mcp, by the
// newest revision of the protocol with sessions and by the one without.
import type { Client } from "@modelcontextprotocol/client"
import { wav } from "@model-gateway/sandbox/DtmfTone"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { act, type Decision, type Outcome, run } from "./Agent.ts"
import { connect, ways } from "./Connect.ts"
import { createKey, objectOf, usageOf, videoStatus } from "./Gateway.ts"

const documents = ["Invoices are sent on the first.", "To reset your password, open Settings.", "We ship to France."]

const video = { model: "sandbox/title-card", prompt: "A long day", duration: 3, resolution: "1080p" }

const speech = () => Buffer.from(wav("555", { sampleRate: 8000 })).toString("base64")

const sessionOf = ({ output }: Outcome) => objectOf(output["session"])

/** Ranks, transcribes, starts a video and cancels it, makes another one, and is stopped at 0.04. */
function* script(): Generator<Decision, void, Outcome> {
  const models = yield { tool: "models", arguments: { kind: "rerank", query: "bm25" } }
  expect(models.text).toContain("0.001 credits per search unit of 100 documents")
  const rerank = { model: "sandbox/bm25", query: "forgotten password", documents, top_n: 1 }
  const estimate = yield { tool: "rerank", arguments: { ...rerank, estimate_only: true } }
  expect(estimate.output).toMatchObject({ estimated_cost: 0.001, cost: null, results: [] })
  const ranked = yield { tool: "rerank", arguments: rerank }
  expect(ranked.output).toMatchObject({
    results: [{ index: 1, excerpt: documents[1] }],
    estimated_cost: 0.001,
    cost: 0.001
  })

  const heard = yield {
    tool: "transcribe",
    arguments: { model: "sandbox/tones", audio_base64: speech(), format: "wav" }
  }
  expect(heard.output).toMatchObject({ text: "555" })
  expect(heard.output["cost"]).toBe(heard.output["estimated_cost"])

  const refused = yield { tool: "make_video", arguments: { ...video, duration: 60 } }
  expect(refused).toMatchObject({ isError: true, output: {} })
  expect(refused.text).toContain("The credit limit of this session is reached")

  const started = yield { tool: "make_video", arguments: { ...video, wait_seconds: 0 } }
  expect(started.output).toMatchObject({ estimated_cost: 0.03, cost: null })
  expect(sessionOf(started)["reserved"]).toBe(0.03)
  const cancelled = yield { tool: "cancel_video", arguments: { job_id: started.output["job_id"] } }
  expect(cancelled.output).toMatchObject({ job_id: started.output["job_id"], status: "cancelled", cost: 0 })
  expect(sessionOf(cancelled)["reserved"]).toBe(0)

  const short = { model: "sandbox/title-card", prompt: "Dawn", duration: 1, resolution: "480p", wait_seconds: 0 }
  const { output } = yield { tool: "make_video", arguments: short }
  const made = yield { tool: "follow_video", arguments: { job_id: output["job_id"] } }
  expect(made.output).toMatchObject({ status: "completed", cost: 0.01, progress: 1 })
  // The SDK's client drops a report that arrives together with the result, so the last one may lack.
  expect(made.progress[0]?.message).toContain(String(output["job_id"]))
  expect(made.links).toEqual([`model-gateway://videos/${String(output["job_id"])}/0`])

  const stopped = yield { tool: "make_video", arguments: video }
  expect(stopped).toMatchObject({ isError: true })
  expect(stopped.text).toContain("of 0.04 credits are spent")
  const free = yield { tool: "rerank", arguments: { ...rerank, model: "sandbox/bm25:free" } }
  expect(free).toMatchObject({ isError: false, output: { cost: 0 } })
  yield { tool: "usage", arguments: {} }
}

/** A folder with one audio file, and with files that an agent must not be able to read. */
const audioFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const outside = mkdtempSync(join(tmpdir(), "model-gateway-"))
  onTestFinished(() => [folder, outside].forEach((each) => rmSync(each, { recursive: true, force: true })))
  writeFileSync(join(folder, "call.wav"), wav("42", { sampleRate: 8000 }))
  writeFileSync(join(folder, "secret.txt"), "a password")
  writeFileSync(join(outside, "other.wav"), wav("1", { sampleRate: 8000 }))
  symlinkSync(join(outside, "other.wav"), join(folder, "link.wav"))
  symlinkSync(join(folder, "secret.txt"), join(folder, "secret.wav"))
  const other = join(outside, "other.wav")
  return {
    folder,
    refused: [relative(folder, other), other, "link.wav", "secret.wav", "secret.txt", ".", "missing.wav"]
  }
}

/** Cancels the call of a video at its first report of progress. Returns the id of the job. */
const cancelCall = async (client: Client): Promise<string> => {
  let reported = ""
  const canceled = act(client, {
    tool: "make_video",
    arguments: { ...video, wait_seconds: 600 },
    onProgress: (message, stop) => {
      reported = message
      stop.abort(new Error("the agent changed its mind"))
    }
  })
  await expect(canceled).rejects.toThrow("the agent changed its mind")
  return /video_\w+/.exec(reported)?.[0] ?? ""
}

it.each(ways)(
  "an agent over $transport, revision $revision, uses each tool and is stopped at its credit limit, and the ledger agrees",
  async (way) => {
    const key = await createKey(`agent ${way.transport} ${way.revision}`)
    const client = await connect(way, { key, maxCredits: 0.04 })
    // The limit would not allow the script more, if this were charged or stayed reserved.
    const job = await cancelCall(client)
    await expect.poll(() => videoStatus(job, key)).toBe("cancelled")
    const outcomes = await run(client, script())

    const costs = outcomes.map(({ output }) => Number(output["cost"] ?? 0))
    const spent = costs.reduce((sum, cost) => sum + Math.round(cost * 1e6), 0) / 1e6
    const usage = outcomes.at(-1)?.output ?? {}
    expect(objectOf(usage["key"])["usage"]).toBe(spent)
    expect(objectOf(usage["session"])).toMatchObject({ spent, reserved: 0, limit: 0.04 })
    expect(await usageOf(key)).toBe(spent)

    const uri = outcomes.flatMap(({ links }) => links)[0] ?? ""
    const [content] = (await client.readResource({ uri })).contents
    const bytes = Buffer.from(content !== undefined && "blob" in content ? content.blob : "", "base64")
    expect(bytes.subarray(4, 8).toString()).toBe("ftyp")
  }
)

it("offers tools that cannot manage, with the schemas of their results", async () => {
  const client = await connect({ transport: "http", revision: "2025-11-25" }, { key: await createKey("lister") })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name).toSorted()).toEqual(
    ["cancel_video", "follow_video", "make_video", "models", "rerank", "transcribe", "usage"].toSorted()
  )
  for (const { inputSchema, name, outputSchema } of tools) {
    expect([name, inputSchema.type, outputSchema?.["type"]]).toEqual([name, "object", "object"])
  }
  // No file of the gateway's machine.
  expect(JSON.stringify(tools.find(({ name }) => name === "transcribe")?.inputSchema)).not.toContain('"path"')
})

it("tells the model what is wrong with its arguments, and charges nothing", async () => {
  const key = await createKey("clumsy agent")
  const client = await connect({ transport: "http", revision: "2026-07-28" }, { key })
  const wrong = await act(client, { tool: "rerank", arguments: { model: "sandbox/bm25", documents: [] } })
  expect(wrong.isError).toBe(true)
  expect(wrong.text).toContain("query")
  const unknown = await act(client, { tool: "rerank", arguments: { model: "no/such", query: "a", documents: ["b"] } })
  expect(unknown).toMatchObject({ isError: true })
  expect(unknown.text).toContain("404")
  expect(await usageOf(key)).toBe(0)
})

it("a process over stdio reads audio files of its folder only", async () => {
  const { folder, refused } = audioFolder()
  const key = await createKey("file agent")
  const client = await connect({ transport: "stdio", revision: "2026-07-28" }, { key, audioFolder: folder })
  const transcribe = (path: string) => act(client, { tool: "transcribe", arguments: { model: "sandbox/tones", path } })
  expect((await transcribe("call.wav")).output).toMatchObject({ text: "42" })
  for (const path of refused) {
    const { isError, text } = await transcribe(path)
    expect([path, isError, text]).toEqual([
      path,
      true,
      expect.stringMatching(/no such audio file|expected a file with the extension/)
    ])
  }
})
