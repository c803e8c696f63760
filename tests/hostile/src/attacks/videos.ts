/** Video jobs at a provider that hangs, or that sends slowly, without an end or too much. */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { ask, fieldOf, jsonOf } from "../client.ts"
import { always, answer, type Handler, jsonIn, silent } from "../doubles.ts"
import {
  type Attack,
  mebibyte,
  milliseconds,
  type Outcome,
  pause,
  problemsOf,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"

/** The upstream `films`, which speaks Replicate's API, and its model `double/film`. */
const filmsAt = (url: string): object => ({
  upstreams: { films: { adapter: "replicate", apiKey: "not-a-real-key", baseUrl: url } },
  models: {
    "double/film": {
      offers: [
        {
          upstream: "films",
          model: "double/film",
          price: { second: 0.001 },
          parameters: { fields: { duration: "duration" }, durations: [1], resolutions: [], aspect_ratios: [] }
        }
      ]
    }
  }
})

/** A file of a few bytes. */
const film: Handler = (_, response) => void response.writeHead(200, { "content-type": "video/mp4" }).end("film")

/** Answers as Replicate does, except where the attack says something else. */
const films =
  (parts: { readonly submit?: Handler; readonly poll?: Handler; readonly file?: Handler }): Handler =>
  (call, response) => {
    if (call.path.endsWith("/cancel")) return answer(response, {})
    if (call.path.includes("/file")) return (parts.file ?? film)(call, response)
    const handler = call.method === "POST" ? (parts.submit ?? always({ id: "film" })) : parts.poll
    ;(handler ?? always({ status: "processing" }))(call, response)
  }

const finished = (url: string, count: number) => ({
  status: "succeeded",
  output: Array.from({ length: count }, (_, index) => `${url}/file${index}`)
})

/** Sends bytes at an interval, without an end. */
const endless =
  (bytes: number, interval: number): Handler =>
  (_, response) => {
    response.writeHead(200, { "content-type": "video/mp4" })
    const timer = setInterval(() => response.writableNeedDrain || response.write(Buffer.alloc(bytes)), interval)
    response.once("close", () => clearInterval(timer))
  }

const submitFilm = async ({ gateway }: Target, prompt = "tea"): Promise<string> => {
  const body = { model: "double/film", prompt, duration: 1 }
  const made = await ask(gateway.origin, { method: "POST", path: "/api/v1/videos", key: gateway.apiKey, body })
  return textOf(jsonOf(made), "id")
}

const cancel = ({ gateway }: Target, id: string) =>
  ask(gateway.origin, { method: "POST", path: `/api/v1/videos/${id}/cancel`, key: gateway.apiKey })

const stateOf = async ({ gateway }: Target, id: string) => {
  const job = jsonOf(await ask(gateway.origin, { method: "GET", path: `/api/v1/videos/${id}`, key: gateway.apiKey }))
  const status = textOf(job, "status")
  return { status, error: status === "failed" ? textOf(job, "error") : undefined }
}

/** How long a sandbox job of another key takes, in milliseconds. Infinity: it was not completed. */
const sandboxJob = async ({ gateway, newKey }: Target, maxMillis: number): Promise<number> => {
  const { key } = await newKey()
  const startedAt = performance.now()
  const body = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }
  const made = await ask(gateway.origin, { method: "POST", path: "/api/v1/videos", key, body })
  const path = `/api/v1/videos/${textOf(jsonOf(made), "id")}`
  while (performance.now() - startedAt < maxMillis) {
    const job = jsonOf(await ask(gateway.origin, { method: "GET", path: `${path}?wait=1`, key }))
    if (textOf(job, "status") === "completed") return performance.now() - startedAt
  }
  return Number.POSITIVE_INFINITY
}

const jobCount = 40

/** In milliseconds. Rendering a card of a second takes most of it. */
const maxNeighborMillis = 10_000

/** The jobs of one key hang. Another key's job is measured beside them, and after their end. */
const hanging = (name: string, title: string, parts: Parameters<typeof films>[0] & { readonly outputs?: number }) => {
  const attack: Attack = {
    name,
    title: `${jobCount} video jobs at a provider that ${title}, then a sandbox job of another key; all are canceled, then another one`,
    bound: `completed within ${milliseconds(maxNeighborMillis)} each`,
    file: filmsAt,
    seconds: 90,
    run: async (target) => {
      const { upstream } = target
      const poll = parts.outputs === undefined ? parts.poll : always(finished(upstream.url, parts.outputs))
      upstream.handle = films({ ...parts, ...(poll === undefined ? {} : { poll }) })
      const ids = await Promise.all(Array.from({ length: jobCount }, () => submitFilm(target)))
      await pause(1500)
      const beside = await sandboxJob(target, 30_000)
      const cancelled = await Promise.all(ids.map((id) => cancel(target, id)))
      const after = await sandboxJob(target, 30_000)
      return {
        figure:
          `the other key: ${Number.isFinite(beside) ? milliseconds(beside) : "not done in 30 s"} beside them, ` +
          `${Number.isFinite(after) ? milliseconds(after) : "not done in 30 s"} after they were canceled (${statusesOf(cancelled)})`,
        problems: [
          ...problemsOf(cancelled, [200]),
          ...(beside > maxNeighborMillis ? ["beside them, the other key's job was late"] : []),
          ...(after > maxNeighborMillis ? ["after they were canceled, the other key's job was late"] : [])
        ]
      }
    }
  }
  return attack
}

/** The files and their bytes in a folder, with what is being written. */
const filesIn = (folder: string): { readonly count: number; readonly bytes: number } => {
  let [count, bytes] = [0, 0]
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "lock" || entry.parentPath.endsWith("/owner")) continue
    const { size } = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }) ?? { size: 0 }
    count++
    bytes += size
  }
  return { count, bytes }
}

/** Waits until a condition holds, at most this many milliseconds. */
const until = async (isSo: () => Promise<boolean> | boolean, maxMillis: number): Promise<boolean> => {
  const startedAt = performance.now()
  while (!(await isSo())) {
    if (performance.now() - startedAt > maxMillis) return false
    await pause(100)
  }
  return true
}

const manyOutputs: Attack = {
  name: "video-outputs",
  title: "a provider that finishes a job with 500 videos, and others with 3,000 and 130,000",
  bound: "the first one fails and names the bound; nothing is stored of any",
  file: filmsAt,
  run: async (target): Promise<Outcome> => {
    const { gateway, upstream } = target
    const files = join(gateway.dataDir, "files")
    const before = filesIn(files).count
    upstream.handle = films({
      submit: (call, response) => answer(response, { id: `film${String(fieldOf(jsonIn(call), "input", "prompt"))}` }),
      poll: ({ path }, response) => answer(response, finished(upstream.url, Number(/film(\d+)/.exec(path)?.[1])))
    })
    const first = await submitFilm(target, "500")
    const others = [await submitFilm(target, "3000"), await submitFilm(target, "130000")]
    await until(async () => (await stateOf(target, first)).status === "failed", 20_000)
    const { error, status } = await stateOf(target, first)
    const stored = filesIn(files).count - before
    // The gateway may try longer with a response that it does not even read to its end.
    for (const id of others) await cancel(target, id)
    return {
      figure: `${status} (${error ?? "no error"}); ${stored} objects stored`,
      problems: [
        ...(error?.includes("at most 16") === true ? [] : ["the job did not fail with the bound"]),
        ...(stored > 0 ? [`${stored} objects stored`] : [])
      ]
    }
  }
}

/** The default of `video-max-size`, in MiB. */
const maxSize = 1024

const endlessFile: Attack = {
  name: "video-endless",
  title: "a provider whose file does not end",
  bound: `the job fails and names the bound of ${maxSize} MiB; at most that and 16 MiB are on the disk, and nothing at the end`,
  seconds: 120,
  file: filmsAt,
  run: async (target): Promise<Outcome> => {
    const { gateway, upstream } = target
    upstream.handle = films({ poll: always(finished(upstream.url, 1)), file: endless(mebibyte, 1) })
    const files = join(gateway.dataDir, "files")
    const before = filesIn(files)
    const id = await submitFilm(target)
    let largest = 0
    const isOver = async (): Promise<boolean> => {
      largest = Math.max(largest, filesIn(files).bytes - before.bytes)
      return largest > 2 * maxSize * mebibyte || (await stateOf(target, id)).status === "failed"
    }
    await until(isOver, 90_000)
    const { error, status } = await stateOf(target, id)
    const isGone = await until(() => filesIn(files).count === before.count, 1000)
    const mebibytes = largest / mebibyte
    return {
      figure: `${status} (${error ?? "no error"}); ${mebibytes.toFixed(0)} MiB on the disk`,
      problems: [
        ...(error?.includes("1 GiB") === true ? [] : ["the job did not fail with the bound"]),
        ...(mebibytes > maxSize + 16 ? [`${mebibytes.toFixed(0)} MiB on the disk`] : []),
        ...(isGone ? [] : ["something stays on the disk"])
      ]
    }
  }
}

const cancelledDownload: Attack = {
  name: "video-cancelled",
  title: "a job with two videos is canceled while the second one, which does not end, is downloaded",
  bound: "nothing is on the disk within 10 s",
  quick: true,
  file: filmsAt,
  run: async (target): Promise<Outcome> => {
    const { gateway, upstream } = target
    const file: Handler = (call, response) => (call.path.endsWith("/file0") ? film : endless(65_536, 1))(call, response)
    upstream.handle = films({ poll: always(finished(upstream.url, 2)), file })
    const files = join(gateway.dataDir, "files")
    const before = filesIn(files)
    const id = await submitFilm(target)
    const isDownloading = await until(() => filesIn(files).bytes > before.bytes + mebibyte, 20_000)
    const cancelled = await cancel(target, id)
    const cancelledAt = performance.now()
    const isGone = await until(() => filesIn(files).count === before.count, 10_000)
    const took = performance.now() - cancelledAt
    const left = filesIn(files)
    return {
      figure: `canceled: ${statusesOf([cancelled])}; ${
        isGone
          ? `nothing on the disk after ${milliseconds(took)}`
          : `${left.count - before.count} files, ${((left.bytes - before.bytes) / mebibyte).toFixed(0)} MiB after 10 s`
      }`,
      problems: [
        ...problemsOf([cancelled], [200]),
        ...(isDownloading ? [] : ["the download did not start"]),
        ...(isGone ? [] : ["it stays on the disk"])
      ]
    }
  }
}

const fullDisk: Attack = {
  name: "video-full-disk",
  title: "a finished video and an upload, while less than the reserve of the disk is free",
  bound: "503 for the upload, and nothing is stored of the video; other requests are served",
  // No disk has as much.
  settings: { DISK_RESERVE: "4 PiB" },
  file: filmsAt,
  run: async (target): Promise<Outcome> => {
    const { gateway, upstream } = target
    upstream.handle = films({ poll: always(finished(upstream.url, 1)), file: endless(65_536, 1) })
    const files = join(gateway.dataDir, "files")
    const before = filesIn(files)
    const id = await submitFilm(target)
    const form = new FormData()
    form.append("purpose", "user_data")
    form.append("file", new Blob(["tea"]), "tea.txt")
    const encoded = new Response(form)
    const upload = await ask(gateway.origin, {
      method: "POST",
      path: "/api/v1/files",
      key: gateway.apiKey,
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      body: Buffer.from(await encoded.arrayBuffer())
    })
    let largest = 0
    await until(() => {
      largest = Math.max(largest, filesIn(files).bytes - before.bytes)
      return false
    }, 2000)
    await cancel(target, id)
    return {
      figure: `upload: ${statusesOf([upload])}; at most ${(largest / mebibyte).toFixed(1)} MiB on the disk`,
      problems: [...problemsOf([upload], [503]), ...(largest > 0 ? ["the video was stored"] : [])]
    }
  }
}

export const videos: ReadonlyArray<Attack> = [
  hanging("video-hangs-submit", "hangs at submission", { submit: silent }),
  hanging("video-hangs-poll", "hangs at polls", { poll: silent }),
  hanging("video-drips", "sends 10 bytes of a file each second", { outputs: 1, file: endless(10, 1000) }),
  manyOutputs,
  endlessFile,
  cancelledDownload,
  fullDisk
]
