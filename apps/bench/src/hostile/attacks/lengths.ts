/** Audio that is longer than it says, and bills of providers for more than was quoted. */
import { ambiguous, form } from "../audio.ts"
import { ask, fieldOf, jsonOf, type Question } from "../client.ts"
import { always } from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import { type Attack, problemsOf, statusesOf } from "./attack.ts"

/** The upstream `double`, which speaks OpenAI's API, and its model. A second costs 0.0001 credits. */
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

export const audioLengths: ReadonlyArray<Attack> = [lengths]
