/** Video jobs of a filled gateway. */
import { setTimeout as sleep } from "node:timers/promises"
import * as Api from "./Api.ts"
import type { Key } from "./Known.ts"
import type { Random } from "./Random.ts"

/** A job, and the key that submitted it. */
export type Made = readonly [key: Key, id: string]

const prompts = [
  "A lighthouse in a storm, seen from the sea",
  "A paper boat on a river in spring",
  "Morning fog between the pines, slow pan",
  "The skyline at night, in the style of an etching"
]

export const submit = async (api: Api.Api, { key }: Key, model: string, fields: object = {}): Promise<string> => {
  const body = { model, prompt: prompts[0], duration: 4, resolution: "720p", aspect_ratio: "16:9", ...fields }
  return Api.text(await api.call("POST", "/videos", { key, body }), "id")
}

export const statusOf = async (api: Api.Api, [{ key }, id]: Made): Promise<string> =>
  Api.text(await api.call("GET", `/videos/${id}`, { key }), "status")

/** Waits while the job has one of these statuses. */
export const whileIn = async (api: Api.Api, job: Made, ...statuses: ReadonlyArray<string>): Promise<void> => {
  while (statuses.includes(await statusOf(api, job))) await sleep(20)
}

/** Submits a job with each of the keys, and waits until all have ended. */
export const make = async (api: Api.Api, keys: ReadonlyArray<Key>, random: Random): Promise<ReadonlyArray<Made>> => {
  const all: Array<Made> = []
  for (const key of keys) {
    const fields = {
      prompt: random.pick(prompts),
      duration: random.pick([4, 6, 8]),
      generate_audio: random.chance(0.5)
    }
    all.push([key, await submit(api, key, "acme/veo", fields)])
  }
  for (const job of all) await whileIn(api, job, "pending", "in_progress")
  return all
}

/** Submits a job, and cancels it when the upstream makes it. */
export const cancel = async (api: Api.Api, key: Key, model: string): Promise<string> => {
  const id = await submit(api, key, model)
  await whileIn(api, [key, id], "pending")
  await api.call("POST", `/videos/${id}/cancel`, { key: key.key })
  return id
}

/** Finds a job by its status. Fails if there is none. */
export const byStatus = async (api: Api.Api, jobs: ReadonlyArray<Made>): Promise<(status: string) => string> => {
  const statuses = await Promise.all(jobs.map((job) => statusOf(api, job)))
  return (status) => {
    const [, id] = jobs[statuses.indexOf(status)] ?? []
    if (id === undefined) throw new Error(`No job is ${status}`)
    return id
  }
}
