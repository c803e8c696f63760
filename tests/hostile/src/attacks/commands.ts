/** Programs on the gateway's own machine, which transcribe. */
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { silence } from "@model-gateway/test-services/Wav"
import { form } from "../audio.ts"
import { ask, type Question } from "../client.ts"
import { type Attack, atOnce, maxMillisOf, milliseconds, pause, problemsOf, statusesOf } from "./attack.ts"

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
  ...form({ model: "local/ears" }, { name: "small.wav", bytes: silence({ size: 16_000 }) })
})

const queue: Attack = {
  name: "command-queue",
  title: "60 requests at once of one key to a program that takes one at a time, beside another key",
  bound: "the other key: 200 within 15 s; the first: 200 or 529; no circuit opens",
  settings: { DEADLINE_TRANSCRIPTION_ATTEMPT: "4 seconds" },
  file: programOf({ command: ["sh", "-c", "sleep 0.3; echo tea"] }),
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
        `first key: ${statusesOf(answers)}; other key: ${statusesOf(others)} in ${milliseconds(maxMillisOf(others))}; ` +
        `afterward: ${statusesOf([after])}`,
      problems: [
        ...problemsOf(answers, [200, 529]),
        ...problemsOf([...others, after], [200], 15_000).map((problem) => `the other key: ${problem}`),
        ...(waits.every((wait) => wait >= 1) ? [] : ["a 529 without Retry-After"]),
        ...(answers.some(({ status }) => status === 200) ? [] : ["the first key got nothing"])
      ]
    }
  }
}

/** The argument that tells the programs of this attack from others on the machine. */
const seconds = 100_000 + (process.pid % 100_000)

/** The processes of this attack and their working directories. Needs Linux. */
const running = (): ReadonlyArray<{ readonly pid: number; readonly folder: string }> =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0")
      return words[0] === "sleep" && words[1] === String(seconds)
        ? [{ pid: Number(entry), folder: readlinkSync(`/proc/${entry}/cwd`) }]
        : []
    } catch {
      return []
    }
  })

const until = async (isOver: () => boolean, patience = 15_000): Promise<void> => {
  const startedAt = performance.now()
  while (!isOver() && performance.now() - startedAt < patience) await pause(50)
}

/** The children of a program; the last one leaves its group and its output open. */
const forks = `sleep ${seconds} & sleep ${seconds} & setsid sleep ${seconds} &`

const leftovers: Attack = {
  name: "command-leftovers",
  title: "a program that starts others and ends; 2 that run while the gateway is killed",
  bound: "nothing is left after the call, and nothing after the next start: no process, no folder",
  quick: true,
  skips: { ledger: "the requests of a killed process are abandoned" },
  file: programOf({
    command: ["sh", "-c", `${forks} test "$0" = en || sleep ${seconds}`, "{language}"],
    concurrency: 2
  }),
  run: async ({ another, gateway }) => {
    const spoken = {
      ...transcription(gateway.apiKey),
      ...form({ model: "local/ears", language: "en" }, { name: "small.wav", bytes: silence({ size: 16_000 }) })
    }
    const ended = await ask(gateway.origin, { ...spoken, patience: 10_000 })
    const afterCall = running().length
    const victim = await another()
    const calls = atOnce(2, victim.origin, () => transcription(gateway.apiKey))
    await until(() => running().length >= afterCall + 8)
    const before = running()
    const folders = [...new Set(before.map(({ folder }) => folder))].filter((folder) => folder !== process.cwd())
    victim.signal("SIGKILL")
    await victim.exited
    await calls
    await another()
    const left = running()
    const kept = folders.filter((folder) => existsSync(folder))
    for (const { pid } of left) process.kill(pid, "SIGKILL")
    for (const folder of kept) rmSync(folder, { recursive: true, force: true })
    return {
      figure:
        `the call: ${statusesOf([ended])}, left ${afterCall}; at the kill: ${before.length} processes, ${folders.length} folders; ` +
        `after the next start: ${left.length}, ${kept.length}`,
      problems: [
        ...problemsOf([ended], [200]),
        ...(afterCall === 0 ? [] : [`${afterCall} processes left by a call`]),
        ...(before.length >= 8 ? [] : ["the programs did not start"]),
        ...(left.length === 0 ? [] : [`${left.length} processes left`]),
        ...(kept.length === 0 ? [] : [`${kept.length} folders left`])
      ]
    }
  }
}

const link: Attack = {
  name: "command-link",
  title: "a program whose output file is a link to a file that the gateway may read",
  bound: "502, without the file",
  file: programOf({ command: ["ln", "-s", "/etc/passwd", "{dir}/out.txt"], outputFile: "{dir}/out.txt" }),
  run: async ({ gateway }) => {
    const answer = await ask(gateway.origin, transcription(gateway.apiKey))
    return {
      figure: statusesOf([answer]),
      problems: [
        ...problemsOf([answer], [502]),
        ...(answer.body.toString().includes("root:") ? ["the file was answered"] : [])
      ]
    }
  }
}

export const commands: ReadonlyArray<Attack> = [queue, leftovers, link]
