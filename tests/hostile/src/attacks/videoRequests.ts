/** What the requests of video jobs can fill: the database, and the memory of the workers. */
import type { ServerResponse } from "node:http"
import { type Answer, ask, jsonOf, type Question } from "../client.ts"
import { always, answer, type Handler } from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  maxMillisOf,
  mebibyte,
  milliseconds,
  pause,
  problemsOf,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"

const runway = (upstream: string): object => ({
  upstreams: { runway: { adapter: "runway", apiKey: "not-a-real-key", baseUrl: upstream } }
})

/** A request with an image of 4.9 MB. */
const withImage = (key: string): Question => ({
  method: "POST",
  path: "/api/v1/videos",
  key,
  body: {
    model: "runway/gen4.5",
    prompt: "tea",
    duration: 5,
    frame_images: [
      {
        type: "image_url",
        frame_type: "first_frame",
        image_url: { url: `data:image/png;base64,${"A".repeat(4_900_000)}` }
      }
    ]
  }
})

/** The size of all stored requests in MiB. */
const storedIn = async ({ query }: Target): Promise<number> => {
  const [row] = await query("SELECT SUM(octet_length(request)) AS bytes FROM video_requests")
  return Number(row?.["bytes"] ?? 0) / mebibyte
}

const jobs = 60

const submitAll = async ({ gateway, manage }: Target): Promise<ReadonlyArray<Answer>> => {
  await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1000 })
  await gateway.watch.reset()
  const question = withImage(gateway.apiKey)
  const answers: Array<Answer> = []
  for (let n = 0; n < jobs; n++) answers.push(await ask(gateway.origin, question))
  return answers
}

const cancelAll = async ({ gateway }: Target, answers: ReadonlyArray<Answer>): Promise<void> => {
  for (const one of answers) {
    if (one.status !== 202) continue
    const path = `/api/v1/videos/${textOf(jsonOf(one), "id")}/cancel`
    await ask(gateway.origin, { method: "POST", path, key: gateway.apiKey })
  }
}

const openRequests: Attack = {
  name: "held-video-requests",
  title: `${jobs} video jobs with images of 4.9 MB at a provider that does not answer the submission`,
  bound: "202 up to 256 MiB of stored requests, then 429",
  storage: true,
  settings: unlimited,
  seconds: 300,
  file: runway,
  run: async (target) => {
    const { upstream } = target
    const waiting: Array<ServerResponse> = []
    let isOver = false
    const task = { id: "task", status: "RUNNING", progress: 0.5 }
    const hang: Handler = (_, response) => (isOver ? answer(response, task) : void waiting.push(response))
    upstream.handle = hang
    const answers = await submitAll(target)
    await pause(5000)
    const stored = await storedIn(target)
    const submitted = waiting.length
    isOver = true
    for (const response of waiting) answer(response, task)
    await cancelAll(target, answers)
    return {
      figure: `${statusesOf(answers)}, at most ${milliseconds(maxMillisOf(answers))}; ${stored.toFixed(0)} MiB stored, ${submitted} submissions hung`,
      problems: [
        ...problemsOf(answers, [202, 429]),
        ...(stored > 256 ? [`${stored.toFixed(0)} MiB of requests are stored`] : []),
        ...(submitted === 0 ? ["no submission hung"] : [])
      ]
    }
  }
}

const polled: Attack = {
  name: "polled-video-requests",
  title: `${jobs} video jobs with images of 4.9 MB at a provider that accepts them and makes no progress`,
  bound: "202 or 429; at most 8 MiB stay stored once the provider has the images",
  storage: true,
  settings: unlimited,
  seconds: 300,
  file: runway,
  run: async (target) => {
    target.upstream.handle = always({ id: "task", status: "RUNNING", progress: 0.5 })
    const answers = await submitAll(target)
    const startedAt = performance.now()
    let stored = await storedIn(target)
    while (stored > 8 && performance.now() - startedAt < 60_000) {
      await pause(500)
      stored = await storedIn(target)
    }
    const taken = performance.now() - startedAt
    await cancelAll(target, answers)
    return {
      figure: `${statusesOf(answers)}; ${stored.toFixed(1)} MiB stored after ${milliseconds(taken)}`,
      problems: [
        ...problemsOf(answers, [202, 429]),
        ...(stored > 8 ? [`${stored.toFixed(0)} MiB of requests stay stored`] : [])
      ]
    }
  }
}

export const videoRequests: ReadonlyArray<Attack> = [openRequests, polled]
