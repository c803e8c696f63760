/** Many large bodies at once. */
import { silence } from "../audio.ts"
import { arrayOf, type Attack, atOnce, json, mebibyte, outcomeOf } from "./attack.ts"

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
    const data = silence(Math.floor((33 * mebibyte * 3) / 4 - 1000)).toString("base64")
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

export const memory: ReadonlyArray<Attack> = [emptyTexts, fullReranks, transcriptions]
