/** Programs on the gateway's own machine, which transcribe. */
import { form, silence } from "../audio.ts"
import { ask, type Question } from "../client.ts"
import { type Attack, atOnce, longestOf, milliseconds, pause, problemsOf, statusesOf } from "./attack.ts"

/** A settings file with a model that is this program. */
const programOf = (parameters: object) => (): object => ({
  upstreams: { local: { adapter: "command" } },
  models: {
    "local/ears": { name: "Ears", offers: [{ upstream: "local", model: "ears", price: { second: 0 }, parameters }] }
  }
})

const transcription = (key: string): Question => ({
  method: "POST",
  path: "/api/v1/audio/transcriptions",
  key,
  ...form({ model: "local/ears" }, { name: "small.wav", bytes: silence(16_044) })
})

const queue: Attack = {
  name: "command-queue",
  title: "60 requests at once of one key to a program that takes one at a time, beside another key",
  bound: "the other key: 200 within 5 s; the first: 200 or 529; no circuit opens",
  quick: true,
  settings: { DEADLINE_TRANSCRIPTION_ATTEMPT: "2 seconds" },
  file: programOf({ command: ["sh", "-c", "sleep 0.15; echo tea"] }),
  run: async ({ gateway, newKey }) => {
    const other = await newKey()
    const many = atOnce(60, gateway.origin, () => transcription(gateway.apiKey))
    const others: Array<Awaited<ReturnType<typeof ask>>> = []
    for (let asked = 0; asked < 6; asked++) {
      await pause(500)
      others.push(await ask(gateway.origin, transcription(other.key)))
    }
    const answers = await many
    const after = await ask(gateway.origin, transcription(gateway.apiKey))
    const waits = answers.filter(({ status }) => status === 529).map(({ headers }) => Number(headers["retry-after"]))
    return {
      figure:
        `first key: ${statusesOf(answers)}; other key: ${statusesOf(others)} in ${milliseconds(longestOf(others))}; ` +
        `afterward: ${statusesOf([after])}`,
      problems: [
        ...problemsOf(answers, [200, 529]),
        ...problemsOf([...others, after], [200], 5000).map((problem) => `the other key: ${problem}`),
        ...(waits.every((wait) => wait >= 1) ? [] : ["a 529 without Retry-After"]),
        ...(answers.some(({ status }) => status === 200) ? [] : ["the first key got nothing"])
      ]
    }
  }
}

export const commands: ReadonlyArray<Attack> = [queue]
