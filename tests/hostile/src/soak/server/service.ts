/**
 * The service behind the faults: it answers as the contract says, charges a paid call once for each
 * idempotency key, and stores the answer for it.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { keyRecord } from "@model-gateway/testing/Samples"
import type { Charge } from "../messages.ts"
import { bytesOf, digestOf } from "../payload.ts"
import { type Answer, errorAnswer, type Exchange, jsonAnswer } from "./exchange.ts"

interface Stored {
  readonly filename: string
  readonly bytes: Buffer
}

interface Job {
  readonly id: string
  readonly submittedAt: number
  /** Milliseconds until it is finished. */
  readonly duration: number
  readonly end: "completed" | "failed"
  readonly size: number
}

/** Keeps only the last entries, which are more than those of the longest call. */
const remember = <A>(map: Map<string, A>, key: string, value: A): void => {
  map.set(key, value)
  if (map.size > 2000) map.delete(map.keys().next().value ?? "")
}

/** A field of a multipart form or of a JSON body, without reading it as a whole. */
export const textIn = (body: Buffer, field: string): string | undefined => {
  const start = body.subarray(0, 4096).toString("latin1")
  return (
    new RegExp(`name="${field}"\r\n\r\n([\\w-]+)\r\n`).exec(start)?.[1] ??
    new RegExp(`"${field}":"([\\w-]+)"`).exec(start)?.[1]
  )
}

/** The file of a multipart form. */
const fileIn = (body: Buffer): Stored | undefined => {
  const boundary = body.subarray(0, body.indexOf("\r\n"))
  const part = body.indexOf('name="file"; filename="')
  const start = body.indexOf("\r\n\r\n", part) + 4
  const end = body.lastIndexOf(`\r\n${boundary.toString("latin1")}`)
  const filename = /filename="([^"]*)"/.exec(body.subarray(part, start).toString("latin1"))?.[1]
  return part < 0 || end < start || filename === undefined
    ? undefined
    : { filename, bytes: Buffer.from(body.subarray(start, end)) }
}

export const make = () => {
  const charges: Array<Charge> = []
  const problems: Array<string> = []
  /** The answers by idempotency key. */
  const answers = new Map<string, Promise<Answer>>()
  const files = new Map<string, Stored>()
  const jobs = new Map<string, Job>()
  let replays = 0
  let resumes = 0
  let last = 0

  /** Does paid work once for each key. The work goes on when the client has gone. */
  const paid = (
    { random, request }: Exchange,
    body: Buffer,
    work: (call: string, answer: string) => Answer
  ): Promise<Answer> => {
    const key = request.headers["idempotency-key"]
    const call = textIn(body, "user") ?? textIn(body, "purpose")
    if (typeof key !== "string" || call === undefined) {
      problems.push(`${request.url} has no idempotency key or names no call`)
      return Promise.resolve(errorAnswer(400, "no key"))
    }
    const known = answers.get(key)
    if (known !== undefined) {
      replays++
      return known.then((answer) => ({ ...answer, headers: { ...answer.headers, "idempotent-replayed": "true" } }))
    }
    const answer = `answer-${++last}`
    charges.push({ call, key, answer })
    const done = sleep(random.below(30)).then(() => work(call, answer))
    remember(answers, key, done)
    return done
  }

  const rerank = (body: Buffer) => (call: string, answer: string) => {
    const { documents } = JSON.parse(body.toString()) as { readonly documents: ReadonlyArray<string> }
    return jsonAnswer(200, {
      id: answer,
      model: "soak",
      provider: "soak",
      results: documents.map((text, index) => ({ index, relevance_score: 1 - index / 100, document: { text } })),
      usage: { search_units: 1, cost: 0.001, total_tokens: call.length }
    })
  }

  const transcribe = (isForm: boolean, body: Buffer) => (call: string, answer: string) => {
    const audio = isForm
      ? fileIn(body)?.bytes
      : Buffer.from(
          body.subarray(body.indexOf('"data":"') + 8, body.indexOf('","format"')).toString("latin1"),
          "base64"
        )
    if (audio === undefined) problems.push(`The form of ${call} has no file.`)
    return jsonAnswer(200, {
      text: [call, answer, audio?.length, audio === undefined ? "" : digestOf(audio)].join(" "),
      usage: { seconds: 1, cost: 0.001 }
    })
  }

  const jobAnswer = (job: Job, status = 200): Answer => {
    const age = (Date.now() - job.submittedAt) / job.duration
    const state = age < 0.3 ? "pending" : age < 1 ? "in_progress" : job.end
    return jsonAnswer(status, {
      id: job.id,
      polling_url: `/api/v1/videos/${job.id}`,
      status: state,
      ...(state === "in_progress" ? { progress: Math.floor(age * 10) / 10 } : undefined),
      ...(state === "completed" ? { unsigned_urls: [`/api/v1/videos/${job.id}/content?index=0`] } : undefined),
      ...(state === "failed" ? { error: "the upstream failed" } : undefined)
    })
  }

  const submit =
    ({ random }: Exchange) =>
    (call: string, answer: string) => {
      const job: Job = {
        id: `${call}_${answer}`,
        submittedAt: Date.now(),
        duration: 300 + random.below(2500),
        end: random.chance(0.9) ? "completed" : "failed",
        size: 1 + random.below(2_000_000)
      }
      remember(jobs, job.id, job)
      return jobAnswer(job, 202)
    }

  const upload = (body: Buffer) => (call: string, id: string) => {
    const file = fileIn(body)
    if (file === undefined) {
      problems.push(`The form of ${call} has no file.`)
      return errorAnswer(400, "no file")
    }
    remember(files, id, file)
    return jsonAnswer(200, {
      _shape: "native",
      id,
      type: "file",
      filename: file.filename,
      mime_type: "application/octet-stream",
      size_bytes: file.bytes.length,
      created_at: new Date().toISOString(),
      downloadable: true,
      purpose: call,
      workspace_id: "3c8d7a40-1111-4222-8333-444455556666"
    })
  }

  const download = ({ random, request }: Exchange, bytes: Buffer): Answer => {
    const etag = `"${bytes.length}-${bytes.subarray(0, 8).toString("hex")}"`
    const headers = { "content-type": "application/octet-stream", "accept-ranges": "bytes", etag }
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "")
    if (range === null) return { status: 200, headers, body: bytes }
    resumes++
    const condition = request.headers["if-range"]
    // The content may have changed since the download began, and a server may ignore `Range`.
    if (condition !== undefined && random.chance(0.05)) {
      return { status: 200, headers: { ...headers, etag: '"changed"' }, body: bytesOf(etag, bytes.length) }
    }
    if ((condition !== undefined && condition !== etag) || random.chance(0.05)) {
      return { status: 200, headers, body: bytes }
    }
    const start = Number(range[1])
    const end = range[2] === "" || range[2] === undefined ? bytes.length : Number(range[2]) + 1
    if (start >= bytes.length) {
      return errorAnswer(416, "out of range", { "content-range": `bytes */${bytes.length}` })
    }
    return {
      status: 206,
      headers: { ...headers, "content-range": `bytes ${start}-${Math.min(end, bytes.length) - 1}/${bytes.length}` },
      body: bytes.subarray(start, end)
    }
  }

  const longPoll = async (job: Job, seconds: number): Promise<Answer> => {
    const status = (answer: Answer): unknown => (JSON.parse(answer.body.toString()) as { status: unknown }).status
    const before = status(jobAnswer(job))
    for (const until = Date.now() + seconds * 1000; Date.now() < until && status(jobAnswer(job)) === before;) {
      await sleep(50)
    }
    return jobAnswer(job)
  }

  const answer = async (exchange: Exchange, body: Buffer): Promise<Answer> => {
    const { request, url } = exchange
    const [, kind = "", id = "", part] = /^\/api\/v1\/(\w+)(?:\/([^/]+))?(?:\/(.*))?$/.exec(url.pathname) ?? []
    if (kind === "rerank") return paid(exchange, body, rerank(body))
    if (kind === "audio") {
      const isForm = request.headers["content-type"]?.startsWith("multipart/") === true
      return paid(exchange, body, transcribe(isForm, body))
    }
    if (kind === "key") return jsonAnswer(200, { data: { ...keyRecord, label: randomUUID() } })
    if (kind === "guardrails") {
      const { key_hashes } = JSON.parse(body.toString()) as { readonly key_hashes: ReadonlyArray<string> }
      return jsonAnswer(200, { assigned_count: key_hashes.length, not_found: [], replaced: [] })
    }
    if (kind === "videos") {
      if (request.method === "POST") return paid(exchange, body, submit(exchange))
      const job = jobs.get(id)
      if (job === undefined) return errorAnswer(404, "resource not found")
      if (part === "content") return download(exchange, bytesOf(job.id, job.size))
      return longPoll(job, Number(url.searchParams.get("wait") ?? 0))
    }
    if (kind === "files") {
      if (request.method === "POST") return paid(exchange, body, upload(body))
      const file = files.get(id)
      if (file === undefined) return errorAnswer(404, "resource not found")
      if (part === "content") return download(exchange, file.bytes)
      files.delete(id)
      return jsonAnswer(200, { _shape: "native", id, type: "file_deleted" })
    }
    problems.push(`${request.method} ${request.url} is unknown.`)
    return errorAnswer(404, "resource not found")
  }

  return { answer, report: () => ({ charges, replays, resumes, problems }) }
}
