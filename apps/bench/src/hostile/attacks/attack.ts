/** What an attack is, and what attacks have in common. */
import { type Answer, ask, fieldOf, jsonOf, type Question } from "../client.ts"
import { problemWith } from "../errorEnvelope.ts"
import type { Gateway, Settings } from "../gateway.ts"

/** What an attack came to. */
export interface Outcome {
  /** The figures of this attack, in words. */
  readonly figure: string
  /** What is not as it should be. None: the gateway withstood it, as far as the attack can tell. */
  readonly problems: ReadonlyArray<string>
}

/** What is attacked, and how to prepare it. */
export interface Target {
  readonly gateway: Gateway
  /** Starts another process on the same data folder. It ends with the attack. */
  readonly another: (settings?: Settings) => Promise<Gateway>
  /** Calls an operation with the management key. Fails when that is refused. */
  readonly manage: (method: string, path: string, body?: object) => Promise<unknown>
  /** Makes an ordinary key. */
  readonly newKey: (options?: object) => Promise<{ readonly key: string; readonly hash: string }>
}

export interface Attack {
  /** As it is called on the command line. */
  readonly name: string
  /** What is done, as a row of the table says it. */
  readonly title: string
  /** What the gateway must keep to, beside what holds for every attack. */
  readonly bound: string
  /** Takes little time, so that it is part of the tests. */
  readonly quick?: boolean
  readonly settings?: Settings
  /** Seconds after which the attack is given up. Default: 60. */
  readonly seconds?: number
  readonly run: (target: Target) => Promise<Outcome>
}

/** A field of type string; throws for any other type. */
export const textOf = (json: unknown, ...path: ReadonlyArray<string>): string => {
  const found = fieldOf(json, ...path)
  if (typeof found !== "string") throw new Error(`no ${path.join(".")} in ${JSON.stringify(json)}`)
  return found
}

/** `400 ×3, 503 ×2`, and the reason where there was no answer. */
export const statusesOf = (answers: ReadonlyArray<Answer>): string => {
  const counts = new Map<string, number>()
  for (const { failure, status } of answers) {
    const name = status === 0 ? `no answer (${failure ?? "unknown"})` : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ")
}

/** The longest answer, as `1.5 s` or `17 ms`. */
export const milliseconds = (time: number): string =>
  time >= 1000 ? `${(time / 1000).toFixed(1)} s` : `${time.toFixed(0)} ms`

export const longestOf = (answers: ReadonlyArray<Answer>): number =>
  Math.max(0, ...answers.map((answer) => answer.milliseconds))

/** What is wrong with answers that may only have these statuses. */
export const problemsOf = (
  answers: ReadonlyArray<Answer>,
  allowed: ReadonlyArray<number>,
  longest = Infinity
): ReadonlyArray<string> => [
  ...new Set(
    answers.flatMap((answer) => {
      if (!allowed.includes(answer.status)) return [`answered ${statusesOf([answer])}`]
      const problem = answer.status < 300 ? undefined : problemWith(answer)
      return problem === undefined ? [] : [`${answer.status}: ${problem}`]
    })
  ),
  ...(longestOf(answers) > longest ? [`took ${milliseconds(longestOf(answers))}`] : [])
]

/** An outcome that is all in the answers. */
export const outcomeOf = (
  answers: ReadonlyArray<Answer>,
  allowed: ReadonlyArray<number>,
  longest = Infinity
): Outcome => ({
  figure: `${statusesOf(answers)}; longest ${milliseconds(longestOf(answers))}`,
  problems: problemsOf(answers, allowed, longest)
})

/** Asks so many times at once. */
export const atOnce = (
  count: number,
  origin: string,
  question: (at: number) => Question
): Promise<ReadonlyArray<Answer>> =>
  Promise.all(Array.from({ length: count }, (_, at) => ask(origin, question(at), false)))

/** Asks one after the other in so many lanes until told to stop. */
export const keepAsking = (lanes: number, origin: string, question: () => Question) => {
  const answers: Array<Answer> = []
  let stopped = false
  const lane = async (): Promise<void> => {
    while (!stopped) {
      const answer = await ask(origin, question())
      answers.push(answer)
      // A gateway that is gone must not be asked in a tight loop.
      if (answer.status === 0) await pause(50)
    }
  }
  const ended = Promise.all(Array.from({ length: lanes }, lane))
  return {
    stop: async (): Promise<ReadonlyArray<Answer>> => {
      stopped = true
      await ended
      return answers
    }
  }
}

export const pause = (time: number): Promise<void> => new Promise((resume) => setTimeout(resume, time))

/** A small rerank. It costs money unless the model is free. */
export const smallRerank = (key: string, model = "sandbox/bm25"): Question => ({
  method: "POST",
  path: "/api/v1/rerank",
  key,
  body: { model, query: "green tea", documents: ["a cup of green tea", "milk"] }
})

/** `[item,item,…]` of about so many bytes. */
export const arrayOf = (item: string, bytes: number): string =>
  `[${`${item},`.repeat(Math.floor((bytes - item.length) / (item.length + 1)))}${item}]`

export const json = { "content-type": "application/json" }

export const mebibyte = 1024 * 1024

/** What a call with the management key answers; fails when it is refused. */
export const manager =
  (gateway: Gateway, key: string): Target["manage"] =>
  async (method, path, body) => {
    const answer = await ask(gateway.origin, { method, path: `/api/v1${path}`, key, body })
    if (answer.status >= 300 || answer.status === 0) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.toString()} ${answer.failure ?? ""}`)
    }
    return jsonOf(answer)
  }
