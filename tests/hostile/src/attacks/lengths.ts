/** Audio that is longer than it says, and bills of providers for more than was quoted. */
import { silence } from "@model-gateway/test-services/Wav"
import { ambiguous, form } from "../audio.ts"
import { ask, fieldOf, jsonOf, type Question } from "../client.ts"
import { always, answer as respond } from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import { type Attack, atOnce, pause, problemsOf, statusesOf } from "./attack.ts"

/**
 * The upstream `double`, which speaks OpenAI's API, and its model. A second costs 0.0001 credits.
 */
const listeningAt = (url: string): object => ({
  upstreams: { double: { adapter: "openai", apiKey: "not-a-real-key", baseUrl: url } },
  models: {
    "double/listen": {
      offers: [
        {
          upstream: "double",
          model: "listen",
          price: { second: 0.0001 },
          parameters: { audioFormats: ["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"] }
        }
      ]
    }
  }
})

const transcription = (key: string, file: { readonly name: string; readonly bytes: Uint8Array }): Question => ({
  method: "POST",
  path: "/api/v1/audio/transcriptions",
  key,
  ...form({ model: "double/listen" }, file)
})

const long = 600

const lengths: Attack = {
  name: "audio-lengths",
  title: `${ambiguous.length} files of which a decoder may read ${long} s, and another one a few`,
  bound: `400, or ${long} s are charged`,
  quick: true,
  settings: unlimited,
  file: listeningAt,
  run: async ({ gateway, newKey, upstream }) => {
    // Without a bill, the gateway charges what it measured.
    upstream.handle = always({ text: "" })
    const { key } = await newKey()
    const short: Array<string> = []
    const refused: Array<string> = []
    const answers = []
    for (const file of ambiguous) {
      const answer = await ask(gateway.origin, transcription(key, file))
      answers.push(answer)
      if (answer.status === 400) refused.push(file.name)
      const seconds = Number(fieldOf(jsonOf(answer), "usage", "seconds"))
      if (answer.status === 200 && seconds < long) short.push(`${file.name}: ${seconds.toFixed(1)} s`)
    }
    return {
      figure: `${statusesOf(answers)}; refused: ${refused.join(", ")}; too short: ${short.join(", ") || "none"}`,
      problems: [...problemsOf(answers, [200, 400]), ...short.map((one) => `too short: ${one}`)]
    }
  }
}

const limit = 0.1

const bills: Attack = {
  name: "bills-above-quotes",
  title: "40 transcriptions at once of 1 s, of which the upstream bills 600 s each, with a key of limit 0.1",
  bound: "the key spends 0.1 at most, then gets 402",
  storage: true,
  settings: unlimited,
  file: listeningAt,
  run: async ({ gateway, manage, newKey, upstream }) => {
    // All are reserved before the first one ends.
    upstream.handle = (_, response) =>
      void pause(500).then(() => respond(response, { text: "", usage: { type: "duration", seconds: long } }))
    const { hash, key } = await newKey({ limit })
    const question = transcription(key, { name: "second.wav", bytes: silence({ size: 16_000 }) })
    const answers = await atOnce(40, gateway.origin, () => question)
    // What others had reserved is free again, so that one more may take what is left.
    const last = await ask(gateway.origin, question)
    const after = await ask(gateway.origin, question)
    const spent = Number(fieldOf(await manage("GET", `/keys/${hash}`), "data", "usage"))
    return {
      figure: `${statusesOf([...answers, last])}, then ${statusesOf([after])}; spent ${spent.toFixed(4)} of ${limit}`,
      problems: [
        ...problemsOf([...answers, last], [200, 402]),
        ...problemsOf([after], [402]),
        ...(spent > limit ? [`spent ${spent.toFixed(4)} of ${limit}`] : [])
      ]
    }
  }
}

export const audioLengths: ReadonlyArray<Attack> = [lengths, bills]
