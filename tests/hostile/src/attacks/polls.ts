/** Long polling. */
import { ask, jsonOf } from "../client.ts"
import { type Attack, milliseconds, pause, problemsOf, statusesOf, type Target, textOf } from "./attack.ts"

const waitSeconds = 20

/** Starts to wait for a video that takes long. */
const poll = async ({ gateway, newKey }: Target) => {
  const { hash, key } = await newKey()
  // Several jobs, so that the awaited one does not start during the wait.
  const body = { model: "sandbox/title-card", prompt: "tea", duration: 15, resolution: "1080p" }
  let id = ""
  for (let job = 0; job < 4; job++) {
    const made = await ask(gateway.origin, { method: "POST", path: "/api/v1/videos", key, body })
    id = textOf(jsonOf(made), "id")
  }
  await pause(500)
  const answer = ask(gateway.origin, { method: "GET", path: `/api/v1/videos/${id}?wait=${waitSeconds}`, key }, false)
  await pause(1000)
  await gateway.watch.reset()
  return { hash, answer }
}

const deletedKey: Attack = {
  name: "poll-deleted-key",
  title: "the key of a long poll is deleted",
  bound: "401 within 3 s",
  run: async (target) => {
    const { answer, hash } = await poll(target)
    const deleted = performance.now()
    await target.manage("DELETE", `/keys/${hash}`)
    const ended = await answer
    const took = performance.now() - deleted
    return {
      figure: `${statusesOf([ended])}, ${milliseconds(took)} after the deletion`,
      problems: [...problemsOf([ended], [401]), ...(took > 3000 ? [`ended after ${milliseconds(took)}`] : [])]
    }
  }
}

const drained: Attack = {
  name: "poll-drained",
  title: "SIGTERM during a long poll",
  bound: "200 or 503 within 3 s",
  skips: { neighbor: "the attack ends the process" },
  run: async (target) => {
    const { answer } = await poll(target)
    const signaled = performance.now()
    target.gateway.signal("SIGTERM")
    const ended = await answer
    const took = performance.now() - signaled
    return {
      figure: `${statusesOf([ended])}, ${milliseconds(took)} after the signal`,
      problems: [...problemsOf([ended], [200, 503]), ...(took > 3000 ? [`answered after ${milliseconds(took)}`] : [])]
    }
  }
}

export const polls: ReadonlyArray<Attack> = [deletedKey, drained]
