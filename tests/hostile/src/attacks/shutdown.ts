/** Stopping the process while all kinds of requests are in progress. */
import { randomBytes } from "node:crypto"
import { Agent, get } from "node:http"
import { form } from "../audio.ts"
import { type Answer, ask, converse, jsonOf, requestBytes } from "../client.ts"
import { unlimited } from "../gateway.ts"
import { type Attack, mebibyte, milliseconds, pause, problemsOf, smallRerank, statusesOf, textOf } from "./attack.ts"

/**
 * Time for requests in progress to finish, in seconds. Everything below but half-sent requests is
 * over sooner.
 */
const drainSeconds = 10

/**
 * What a busy machine takes longer. A process that waits for the last responses takes 5 s longer.
 */
const marginSeconds = 4

/** A failure of a connection that the gateway had accepted. A refused connection is none. */
const isReset = ({ failure }: Answer): boolean => failure !== undefined && failure !== "ECONNREFUSED"

/**
 * Downloads at the rate of `chunk` bytes per 50 ms. The content is larger than what the sockets
 * buffer, so that the gateway still sends when it is asked to stop.
 */
const downloadSlowly = (port: number, path: string, key: string, chunk: number): Promise<Answer> =>
  new Promise((resolve) => {
    const startedAt = performance.now()
    const answerOf = (status: number, headers: Answer["headers"], body: Buffer, failure?: string): Answer => ({
      status,
      headers,
      body,
      milliseconds: performance.now() - startedAt,
      failure
    })
    const headers = { authorization: `Bearer ${key}` }
    get({ agent: false, host: "127.0.0.1", port, path, headers }, (response) => {
      const chunks: Array<Buffer> = []
      const timer = setInterval(() => {
        const read: unknown = response.read(chunk) ?? response.read()
        if (read instanceof Buffer) chunks.push(read)
      }, 50)
      response.once("close", () => {
        clearInterval(timer)
        const failure = response.complete ? undefined : "CUT"
        resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks), failure))
      })
      response.on("error", () => {})
    }).on("error", (error: NodeJS.ErrnoException) =>
      resolve(answerOf(0, {}, Buffer.alloc(0), error.code ?? error.message))
    )
  })

const mixed: Attack = {
  name: "sigterm-mixed",
  title:
    "SIGTERM during reranks on 64 connections, reranks with a new connection each, uploads, long polls, downloads " +
    "and half-sent requests",
  bound: `no reset; half-sent requests and the process end within ${drainSeconds + marginSeconds} s, which is the shutdown timeout and ${marginSeconds} s`,
  settings: { ...unlimited, SHUTDOWN_TIMEOUT: `${drainSeconds} seconds` },
  skips: { neighbor: "the attack ends the process" },
  run: async ({ gateway }) => {
    const { apiKey: key, origin, port } = gateway
    const post = (path: string, body: object) => ask(origin, { method: "POST", path: `/api/v1${path}`, key, body })
    const fileOf = (bytes: Buffer) => form({ purpose: "tests" }, { name: "noise.bin", bytes })
    const content = randomBytes(24 * mebibyte)
    const stored = await ask(origin, { method: "POST", path: "/api/v1/files", key, ...fileOf(content) })
    const file = textOf(jsonOf(stored), "id")
    const video = { model: "sandbox/title-card", prompt: "tea", duration: 15, resolution: "1080p" }
    // The last one does not start while the others are rendered.
    const jobs: Array<string> = []
    for (let job = 0; job < 6; job++) jobs.push(textOf(jsonOf(await post("/videos", video)), "id"))

    const reranks: Array<Answer> = []
    const kept = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (;;) {
        const answer = await ask(origin, smallRerank(key), agent)
        reranks.push(answer)
        if (answer.status === 0) return agent.destroy()
      }
    }
    const fresh = async (): Promise<void> => {
      for (;;) {
        const answer = await ask(origin, smallRerank(key), false)
        reranks.push(answer)
        if (answer.status === 0) return
        await pause(20)
      }
    }
    const lanes = Promise.all([...Array.from({ length: 64 }, kept), ...Array.from({ length: 8 }, fresh)])
    const downloads = Promise.all(
      Array.from({ length: 4 }, () => downloadSlowly(port, `/api/v1/files/${file}/content`, key, mebibyte / 2))
    )
    const polls = Promise.all(
      Array.from({ length: 16 }, () =>
        ask(origin, { method: "GET", path: `/api/v1/videos/${jobs.at(-1)}?wait=30`, key }, false)
      )
    )
    await pause(1000)

    // Uploads that arrive over 3 seconds.
    const upload = fileOf(randomBytes(2 * mebibyte))
    const head = requestBytes("POST", "/api/v1/files", {
      host: "127.0.0.1",
      authorization: `Bearer ${key}`,
      ...upload.headers,
      "content-length": String(upload.body.length)
    })
    const pieces = 30
    const size = Math.ceil(upload.body.length / pieces)
    const slow = Array.from({ length: pieces }, (_, at) => [upload.body.subarray(at * size, (at + 1) * size), 100])
    const uploads = Promise.all(
      Array.from({ length: 8 }, () => converse(port, [head, ...slow.flat()], { patience: 60_000 }))
    )
    const halves = [
      Buffer.concat([head, upload.body.subarray(0, 1000)]),
      requestBytes("POST", "/api/v1/rerank", {
        host: "127.0.0.1",
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": "1000"
      }),
      Buffer.from("POST /api/v1/rerank HTTP/1.1\r\nhost: 127.0.0.1\r\nauthoriz")
    ]
    const begun = performance.now()
    const half = Promise.all(halves.map((bytes) => converse(port, [bytes], { patience: 60_000 })))
    await pause(500)
    const signaled = performance.now()
    gateway.signal("SIGTERM")
    const took = gateway.exited.then(() => performance.now() - signaled)
    const received = await half
    const halfTook = Math.max(...received.map(({ milliseconds }) => milliseconds)) - (signaled - begun)
    const [polled, downloaded, uploaded, ended] = await Promise.all([polls, downloads, uploads, took])
    await lanes

    const reset = reranks.filter(isReset)
    const whole = downloaded.filter(({ body }) => body.equals(content)).length
    const uploadStatuses = uploaded.map(({ end, statuses }) => statuses.at(-1) ?? end)
    const halfEnds = received.map(({ end, statuses }) => statuses.join("+") || end)
    const limit = (drainSeconds + marginSeconds) * 1000
    return {
      figure:
        `reranks: ${statusesOf(reranks)}; polls: ${statusesOf(polled)}; downloads: ${whole} of ${downloaded.length} whole; ` +
        `uploads: ${uploadStatuses.join(", ")}; half-sent: ${halfEnds.join(", ")} after ${milliseconds(halfTook)}; ` +
        `ended ${milliseconds(ended)} after the signal`,
      problems: [
        ...(reset.length > 0 ? [`reranks: ${reset.length} connections were reset`] : []),
        ...problemsOf(
          reranks.filter(({ failure }) => failure === undefined),
          [200, 503]
        ).map((problem) => `reranks: ${problem}`),
        ...problemsOf(polled, [200, 503]).map((problem) => `polls: ${problem}`),
        ...(whole < downloaded.length ? [`downloads: ${statusesOf(downloaded.filter(isReset))}`] : []),
        ...(uploadStatuses.every((status) => status === 200) ? [] : [`uploads: ${uploadStatuses.join(", ")}`]),
        ...(halfTook > limit ? [`half-sent requests ended after ${milliseconds(halfTook)}`] : []),
        ...(ended > limit ? [`the process ended after ${milliseconds(ended)}`] : [])
      ]
    }
  }
}

export const shutdown: ReadonlyArray<Attack> = [mixed]
