/** Many large bodies at the same time. */
import { silence } from "@model-gateway/test-services/Wav"
import { ask, converse, requestBytes } from "../client.ts"
import {
  arrayOf,
  type Attack,
  atOnce,
  json,
  keepAsking,
  maxMillisOf,
  mebibyte,
  milliseconds,
  outcomeOf,
  pause,
  problemsOf,
  statusesOf
} from "./attack.ts"

const emptyTexts: Attack = {
  name: "empty-texts",
  title: "16 reranks at once of 8 MiB, 2.7 million empty documents each",
  bound: "400, 429 or 503",
  run: async ({ gateway }) => {
    const body = `{"model":"sandbox/bm25:free","query":"a","documents":${arrayOf('""', 8 * mebibyte - 100)}}`
    const answers = await atOnce(16, gateway.origin, () => ({
      method: "POST",
      path: "/api/v1/rerank",
      key: gateway.apiKey,
      headers: json,
      body
    }))
    return outcomeOf(answers, [400, 429, 503])
  }
}

const fullReranks: Attack = {
  name: "full-reranks",
  title: "16 valid reranks at once of 8 MiB, 10,000 documents each",
  bound: "200, 429 or 503",
  run: async ({ gateway }) => {
    const text = JSON.stringify("a cup of tea and a word or two ".repeat(27).slice(0, 832))
    const body = `{"model":"sandbox/bm25:free","query":"tea","documents":[${Array(10_000).fill(text).join(",")}]}`
    const answers = await atOnce(16, gateway.origin, () => ({
      method: "POST",
      path: "/api/v1/rerank",
      key: gateway.apiKey,
      headers: json,
      body
    }))
    return outcomeOf(answers, [200, 429, 503])
  }
}

const transcriptions: Attack = {
  name: "transcriptions",
  title: "100 JSON transcriptions at once of 33 MiB, from a key with limit 0",
  bound: "402, 429 or 503",
  run: async ({ gateway, newKey }) => {
    const { key } = await newKey({ limit: 0 })
    const data = silence({ size: Math.floor((33 * mebibyte * 3) / 4 - 1000) }).toString("base64")
    const body = Buffer.from(`{"model":"sandbox/tones","input_audio":{"format":"wav","data":"${data}"}}`)
    await gateway.watch.reset()
    const answers = await atOnce(100, gateway.origin, () => ({
      method: "POST",
      path: "/api/v1/audio/transcriptions",
      key,
      headers: json,
      body
    }))
    return outcomeOf(answers, [402, 429, 503])
  }
}

const hoarded: Attack = {
  name: "hoarded-memory",
  title: "60 bodies of 8 MiB that one key sends slowly, beside reranks of 2 MiB of another key",
  bound: "the other key: 200 within 1 s",
  run: async ({ gateway, newKey }) => {
    const other = await newKey()
    const text = JSON.stringify("a cup of tea and a word or two ".repeat(680))
    const body = Buffer.from(`{"model":"sandbox/bm25","query":"tea","documents":[${Array(100).fill(text).join(",")}]}`)
    const rerank = { method: "POST", path: "/api/v1/rerank", key: other.key, headers: json, body }
    await ask(gateway.origin, rerank)
    const head = requestBytes("POST", "/api/v1/rerank", {
      host: "127.0.0.1",
      authorization: `Bearer ${gateway.apiKey}`,
      ...json,
      "content-length": String(8 * mebibyte - 100)
    })
    const seconds = 15
    const trickle = Array.from({ length: seconds }, () => [" ".repeat(2048), 1000] as const).flat()
    await gateway.watch.reset()
    const slow = Promise.all(
      Array.from({ length: 60 }, () => converse(gateway.port, [head, ...trickle], { patience: seconds * 1000 }))
    )
    await pause(1000)
    const others = keepAsking(1, gateway.origin, () => rerank)
    const statuses = new Set((await slow).flatMap((received) => received.statuses))
    const answers = await others.stop()
    return {
      figure:
        `slow: ${[...statuses].join(", ") || "nothing yet"}; ` +
        `the other key: ${statusesOf(answers)}, at most ${milliseconds(maxMillisOf(answers))}`,
      problems: [
        ...[...statuses].filter((status) => status !== 503).map((status) => `slow: answered ${status}`),
        ...problemsOf(answers, [200], 1000).map((problem) => `the other key: ${problem}`)
      ]
    }
  }
}

export const memory: ReadonlyArray<Attack> = [emptyTexts, fullReranks, transcriptions, hoarded]
