import type { Double, Recorded, Scripted } from "./Double.mjs"

/** How a job ends. */
export type Outcome = "succeed" | "fail" | "lose" | "expire" | "empty"

export interface Job {
  readonly id: string
  /** What it was submitted with. */
  readonly input: unknown
  readonly polls: number
  readonly isCanceled: boolean
}

/** The jobs of a double. */
export interface Jobs {
  /** The jobs by id, in the order of submission. */
  readonly jobs: ReadonlyMap<string, Job>
  /** Sets how the next jobs end. */
  readonly next: (...outcomes: ReadonlyArray<Outcome>) => void
}

/** A double of a service whose results are fetched later. */
export interface JobDouble extends Double {
  readonly jobs: Jobs
}

export declare const makeJobs: (options?: {
  readonly newId?: () => string
  /** The polls after which a job is done. Default: 2. */
  readonly polls?: number
}) => Jobs & {
  readonly create: (input: unknown) => Job
  readonly find: (id: string) => Job | undefined
  readonly poll: (id: string) => Job | undefined
  readonly phaseOf: (job: Job) => "queued" | "running" | "done"
  readonly link: (job: Job, request: Recorded) => string
  readonly file: (request: Recorded) => Scripted | undefined
}

/** The bytes of every video. */
export declare const video: Uint8Array

/** A message of a failed job, with a key and a URL. */
export declare const unsafeMessage: string

/** A check of one field of a job's input. */
export type Check = (value: unknown) => boolean

export declare const isBoolean: Check
export declare const isText: Check
/** An `http:`, `https:` or `data:` URL. */
export declare const isUrl: Check
export declare const oneOf: (...values: ReadonlyArray<unknown>) => Check
