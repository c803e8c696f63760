/** Work of one key that could delay other keys. */
import { randomBytes } from "node:crypto"
import { silence } from "@model-gateway/test-services/Wav"
import { form } from "../audio.ts"
import { ask, type Question } from "../client.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  atOnce,
  json,
  keepAsking,
  maxMillisOf,
  mebibyte,
  milliseconds,
  problemsOf,
  smallRerank,
  statusesOf
} from "./attack.ts"

const transcription = (key: string, file: { readonly name: string; readonly bytes: Uint8Array }): Question => ({
  method: "POST",
  path: "/api/v1/audio/transcriptions",
  key,
  ...form({ model: "sandbox/tones" }, file)
})

/** The start of a WebM file. Followed by noise, it takes a reader the longest. */
const webmHead = Buffer.alloc(200)
webmHead.write(
  "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQRChYECGFOAZwH/////////EU2bdKtNu4tTq4QVSalm" +
    "U6yBoU27i1OrhBZUrmtTrIHNTbuMU6uEElTDZ1OsggE37AEAAAAAAABo",
  "base64"
)

const noise: Attack = {
  name: "noise",
  title: "20 uploads at once of 25 MB of noise, from a key with limit 0, beside small transcriptions of another key",
  bound: "the other key: 200 within 1 s",
  seconds: 150,
  run: async ({ gateway, newKey }) => {
    const [poor, other] = [await newKey({ limit: 0 }), await newKey()]
    const small = transcription(other.key, { name: "small.wav", bytes: silence({ size: 16_000 }) })
    await ask(gateway.origin, small)
    const alone = await ask(gateway.origin, small)
    const bytes = Buffer.concat([webmHead, randomBytes(25e6 - webmHead.length)])
    const loud = transcription(poor.key, { name: "noise.webm", bytes })
    await gateway.watch.reset()
    const others = keepAsking(1, gateway.origin, () => small)
    const answers = await atOnce(20, gateway.origin, () => loud)
    const undisturbed = await others.stop()
    return {
      figure:
        `noise: ${statusesOf(answers)} in ${milliseconds(maxMillisOf(answers))}; ` +
        `the other key: ${milliseconds(alone.milliseconds)} alone, at most ${milliseconds(maxMillisOf(undisturbed))}`,
      problems: [
        ...problemsOf(answers, [400, 402, 429, 503]),
        ...problemsOf(undisturbed, [200], 1000).map((problem) => `the other key: ${problem}`)
      ]
    }
  }
}

const marks: Attack = {
  name: "combining-marks",
  title: "5 reranks at once of 3.9 million combining marks, then reranks of another key",
  bound: "200, 400 or 503; the other key: 200 within 1 s",
  skips: { neighbor: "its successes would keep the circuit of the model closed" },
  settings: unlimited,
  run: async ({ gateway, newKey }) => {
    const other = await newKey()
    const length = 3.9e6
    // As many documents of up to 1 MiB as fit.
    const document = JSON.stringify("\u0316\u0301".repeat(length / 2 / 8))
    const body = Buffer.from(`{"model":"sandbox/bm25","query":"a","documents":[${Array(8).fill(document).join(",")}]}`)
    await gateway.watch.reset()
    // Another model, so that its successes do not keep the circuit of the first one closed.
    const others = keepAsking(1, gateway.origin, () => smallRerank(other.key, "sandbox/bm25:free"))
    const answers = await atOnce(5, gateway.origin, () => ({
      method: "POST",
      path: "/api/v1/rerank",
      key: gateway.apiKey,
      headers: json,
      body
    }))
    const later = await ask(gateway.origin, smallRerank(other.key))
    const undisturbed = [...(await others.stop()), later]
    return {
      figure:
        `${(body.length / mebibyte).toFixed(1)} MiB each: ${statusesOf(answers)} in ${milliseconds(maxMillisOf(answers))}; ` +
        `the other key: ${statusesOf(undisturbed)}, at most ${milliseconds(maxMillisOf(undisturbed))}`,
      problems: [
        ...problemsOf(answers, [200, 400, 429, 503]),
        ...problemsOf(undisturbed, [200], 1000).map((problem) => `the other key: ${problem}`)
      ]
    }
  }
}

export const neighbors: ReadonlyArray<Attack> = [noise, marks]
