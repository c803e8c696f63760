/**
 * Starts the gateway's executable with a month of use, or without any, for tests of its pages and
 * for a person who wants to look at them. Its upstreams and receivers are real servers.
 *
 * A filling takes some seconds, so it is kept, and each start has a copy of it. It is made again
 * when it is six hours old, on the next day, and when the gateway has changed.
 */
import { createHash } from "node:crypto"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { memoryFolder } from "@model-gateway/test-services/MemoryFolder"
import * as Api from "./Api.ts"
import { fill } from "./Fill.ts"
import type { Key, Known } from "./Known.ts"
import { random } from "./Random.ts"
import { startReceivers } from "./Receivers.ts"
import { rerankBody, transcriptionBody } from "./Requests.ts"
import { serve } from "./Service.ts"
import { keyNamed } from "./Setup.ts"
import { startUpstreams } from "./Upstreams.ts"
import * as Videos from "./Videos.ts"

const kept = fileURLToPath(new URL("../../../node_modules/.cache/filled", import.meta.url))

/** How long a filling is used, in milliseconds. */
const maxAge = 6 * 3_600_000

/** After which a filling that is no longer used is deleted, in milliseconds. */
const maxCopying = 600_000

const modulesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name))

/** Of the gateway, and of what fills it. */
const version = (): string => {
  const hash = createHash("sha256")
  const folders = [dirname(executable), dirname(fileURLToPath(import.meta.url))]
  for (const file of folders.flatMap(modulesOf)) hash.update(readFileSync(file))
  return hash.digest("hex").slice(0, 16)
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** The folder of a filling that can be used. */
const find = (prefix: string): string | undefined =>
  readdirSync(kept)
    .filter((name) => name.startsWith(prefix))
    .filter((name) => {
      const time = Number(name.slice(prefix.length))
      return Date.now() - time < maxAge && dayOf(time) === dayOf(Date.now())
    })
    .map((name) => join(kept, name))[0]

const isOld = (path: string): boolean => Date.now() - statSync(path).mtimeMs > maxCopying

/** Whether the process that has the lock has ended without removing it. */
const isAbandoned = (lock: string): boolean => {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0)
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
}

/** Fills, unless another process does: then it waits for that. */
const filled = async (): Promise<string> => {
  mkdirSync(kept, { recursive: true })
  const prefix = `${version()}-`
  const lock = join(kept, "lock")
  for (;;) {
    const found = find(prefix)
    if (found !== undefined) return found
    if (isAbandoned(lock)) rmSync(lock, { force: true })
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" })
    } catch {
      await sleep(100)
      continue
    }
    const folder = mkdtempSync(join(kept, "new-"))
    // Filling writes many small files, which takes longer on a disk.
    const data = mkdtempSync(join(memoryFolder(), "model-gateway-filled-"))
    try {
      const known = await fill(data)
      cpSync(data, join(folder, "data"), { recursive: true })
      writeFileSync(join(folder, "known.json"), JSON.stringify(known))
      for (const name of readdirSync(kept)) {
        const other = join(kept, name)
        // Another process may be copying one that was used until now.
        if (other !== folder && other !== lock && isOld(other)) rmSync(other, { recursive: true, force: true })
      }
      renameSync(folder, join(kept, `${prefix}${known.filledAt}`))
    } finally {
      for (const left of [folder, data, lock]) rmSync(left, { recursive: true, force: true })
    }
  }
}

/** A gateway without use. Its first start has created one workspace and two keys. */
export interface Empty {
  readonly origin: string
  readonly managementKey: string
  readonly key: string
  /** Ends it and deletes its data. */
  readonly stop: () => Promise<void>
}

/** A gateway with a month of use, which goes on. */
export interface Filled extends Empty {
  readonly known: Known
  /** Video jobs that have not ended. */
  readonly videos: {
    /** The upstream makes it, and is never finished. */
    readonly inProgress: string
    /** No worker has taken it. */
    readonly pending: string
  }
}

interface Started {
  readonly dataDir: string
  readonly origin: string
  readonly prints: (pattern: RegExp) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Starts upstreams, receivers and the gateway on a new folder. */
const start = async (receiverPort: number, prepare: (dataDir: string) => void): Promise<Started> => {
  const dataDir = mkdtempSync(join(memoryFolder(), "model-gateway-filled-"))
  const ends: Array<() => Promise<unknown>> = []
  const stop = async () => {
    for (const end of ends.toReversed()) await end()
    rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    prepare(dataDir)
    const upstreams = await startUpstreams({ random: random(4), isBerlinDead: true, timeLimit: "5 seconds" })
    ends.push(upstreams.close)
    const receivers = await startReceivers(receiverPort)
    ends.push(receivers.close)
    const service = await serve({ dataDir, settings: upstreams.settings })
    ends.push(service.kill)
    return { dataDir, origin: service.origin, prints: service.prints, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts a gateway without use. */
export const startEmpty = async (): Promise<Empty> => {
  const { origin, prints, stop } = await start(0, () => {})
  return {
    origin,
    managementKey: await prints(/management key +(mg_mk_\w+)\s/),
    key: await prints(/ordinary key +(mg_sk_\w+)\s/),
    stop
  }
}

const isKnown = (value: unknown): value is Known => typeof value === "object" && value !== null && "filledAt" in value

/** The requests of the last minute: `berlin` is down, and videos are under way. */
const goOn = async (api: Api.Api, keys: ReadonlyArray<Key>): Promise<Filled["videos"]> => {
  const numbers = random(5)
  const key = keyNamed(keys, "search-api").key
  const maker = keyNamed(keys, "video-ads")
  // One after the other: so many failures open the circuit.
  for (let n = 0; n < 6; n++) {
    await api.send("POST", "/rerank", { key, body: rerankBody(numbers, "acme/rerank-berlin") })
  }
  await Promise.all([
    ...Array.from({ length: 12 }, () => api.send("POST", "/rerank", { key, body: rerankBody(numbers, "acme/rerank") })),
    ...Array.from({ length: 8 }, () =>
      api.send("POST", "/audio/transcriptions", { key, body: transcriptionBody(numbers, "acme/whisper") })
    )
  ])
  const inProgress = await Videos.submit(api, maker, "acme/film")
  const pending = await Videos.submit(api, maker, "acme/film")
  for (const id of [inProgress, pending]) await Videos.whileIn(api, [maker, id], "pending")
  return { inProgress, pending }
}

/**
 * Makes a video job pending again. A worker takes every job within a quarter of a second, so no page
 * could be seen with one. The queue has no message for the job's new step.
 */
const makePending = (dataDir: string, id: string): void => {
  const database = new DatabaseSync(join(dataDir, "gateway.db"), { timeout: 5000 })
  try {
    database.prepare("UPDATE video_jobs SET status = 'pending', step = step + 1 WHERE id = ?").run(id)
  } finally {
    database.close()
  }
}

/** Starts a gateway with a month of use. The first call of a day takes some seconds longer. */
export const startFilled = async (): Promise<Filled> => {
  const folder = await filled()
  const known: unknown = JSON.parse(readFileSync(join(folder, "known.json"), "utf8"))
  if (!isKnown(known)) throw new Error(`${folder} has no known.json of a filling`)
  const { dataDir, origin, stop } = await start(known.receiverPort, (dataDir) =>
    cpSync(join(folder, "data"), dataDir, { recursive: true, filter: (path) => !path.endsWith(".lock") })
  )
  const api = Api.connect(origin)
  try {
    const videos = await goOn(api, known.keys)
    makePending(dataDir, videos.pending)
    return { origin, managementKey: known.managementKey, key: known.keys[0]?.key ?? "", known, videos, stop }
  } catch (error) {
    await stop()
    throw error
  } finally {
    api.close()
  }
}
