/**
 * The runs of this browser, in IndexedDB: forms and what came of them, without keys and files. It
 * can be switched off, and signing out clears it.
 */
import { onSignOut } from "./access.ts"
import type { Exchange } from "./exchange.ts"
import { type Form, lengthOf, type Task } from "./link.ts"

export interface Entry {
  readonly id: number
  /** Milliseconds. */
  readonly at: number
  readonly task: Task
  readonly form: Form
  readonly status: number
  readonly ms: number
}

const maxEntries = 100

const maxJobs = 20

/** The longest form that is kept, in characters. */
const maxForm = 200_000

const database = "model-gateway-playground"

const settled = <A>(request: IDBRequest<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"))
  })

let opened: Promise<IDBDatabase> | undefined

const open = (): Promise<IDBDatabase> => {
  if (opened === undefined) {
    const request = indexedDB.open(database, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore("runs", { keyPath: "id", autoIncrement: true })
      request.result.createObjectStore("jobs", { keyPath: "id" })
      request.result.createObjectStore("settings")
    }
    opened = settled(request)
  }
  return opened
}

/**
 * Uses a store. Browsers can forbid storage: then there is no history, and everything else works.
 */
const withStore = async <A>(
  name: "runs" | "jobs" | "settings",
  mode: IDBTransactionMode,
  otherwise: A,
  use: (store: IDBObjectStore) => Promise<A>
): Promise<A> => {
  try {
    return await use((await open()).transaction(name, mode).objectStore(name))
  } catch {
    return otherwise
  }
}

const listeners = new Set<() => void>()

const changed = () => {
  for (const listener of listeners) listener()
}

/** Is called after each change. */
export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const isOn = (): Promise<boolean> =>
  withStore("settings", "readonly", true, async (store) => (await settled(store.get("history"))) !== false)

const clearStore = async (store: IDBObjectStore): Promise<void> => {
  await settled(store.clear())
}

/** Deletes all runs and jobs. */
export const clear = async (): Promise<void> => {
  await withStore("runs", "readwrite", undefined, clearStore)
  await withStore("jobs", "readwrite", undefined, clearStore)
  changed()
}

/** Switches it on or off. Off: what was kept is deleted. */
export const set = async (on: boolean): Promise<void> => {
  await withStore("settings", "readwrite", undefined, async (store) => {
    await settled(store.put(on, "history"))
  })
  if (!on) await clear()
  changed()
}

/** The runs, newest first. */
export const list = async (): Promise<ReadonlyArray<Entry>> => {
  const entries = await withStore<ReadonlyArray<Entry>>("runs", "readonly", [], (store) => settled(store.getAll()))
  return entries.toReversed()
}

/** Keeps a run, and forgets the oldest ones. */
export const add = async (task: Task, form: Form, { ms, status }: Exchange): Promise<void> => {
  if (lengthOf(form) > maxForm || !(await isOn())) return
  await withStore("runs", "readwrite", undefined, async (store) => {
    await settled(store.add({ at: Date.now(), task, form, status, ms }))
    const keys = await settled(store.getAllKeys())
    const last = keys.at(-maxEntries - 1)
    if (last !== undefined) await settled(store.delete(IDBKeyRange.upperBound(last)))
  })
  changed()
}

/** A video job that this browser submitted. */
export interface KeptJob {
  readonly id: string
  /** Milliseconds. */
  readonly at: number
  readonly form: Form
}

/** The jobs, newest first. */
export const listJobs = async (): Promise<ReadonlyArray<KeptJob>> => {
  const jobs = await withStore<ReadonlyArray<KeptJob>>("jobs", "readonly", [], (store) => settled(store.getAll()))
  return jobs.toSorted((a, b) => b.at - a.at)
}

/** Keeps a job, and forgets the oldest ones. */
export const addJob = async (job: KeptJob): Promise<void> => {
  if (!(await isOn())) return
  const tooMany = (await listJobs()).slice(maxJobs - 1)
  await withStore("jobs", "readwrite", undefined, async (store) => {
    await settled(store.put(job))
    for (const { id } of tooMany) await settled(store.delete(id))
  })
}

/** Forgets a job. It goes on. */
export const removeJob = (id: string): Promise<void> =>
  withStore("jobs", "readwrite", undefined, async (store) => {
    await settled(store.delete(id))
  })

onSignOut(() => void clear())
