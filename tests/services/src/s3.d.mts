// For the tests on an S3-compatible server; tests/services/src/s3.mjs itself runs before anything is built.

/** The credentials of an account of the server, as the standard variables. */
export interface S3Credentials {
  readonly AWS_ACCESS_KEY_ID: string
  readonly AWS_SECRET_ACCESS_KEY: string
}

/** Whether tests can start the server. Throws in CI if they cannot. */
export const hasS3: () => boolean

/** The credentials of the owner of the bucket. */
export const credentials: S3Credentials

/** Valid credentials without a right to the bucket. */
export const otherCredentials: S3Credentials

/** The bucket, and a prefix in it. Default: the bucket of the server, without a prefix. */
export interface S3Place {
  readonly name?: string
  readonly prefix?: string
}

/** The value of OBJECT_STORE_URL for a bucket at this origin. */
export const urlOf: (origin: string, place?: S3Place) => string

/** A running server. */
export interface S3Server {
  readonly origin: string
  /** The value of OBJECT_STORE_URL. */
  readonly url: (place?: S3Place) => string
  /** Ends the process and removes its data. */
  readonly stop: () => Promise<void>
}

/** Starts the server with an empty bucket. It ends with this process. */
export const startS3: () => Promise<S3Server>

/** What happens to a request. */
export type S3Fault = "slowDown" | "hang" | "reset" | "cutBody" | "hangBody"

/** A proxy in front of the server that fails some requests. */
export interface S3Faults {
  readonly origin: string
  readonly url: (place?: S3Place) => string
  /** The method, the path and the first parameter of each request. */
  readonly requests: Array<string>
  /** How many connections are open. */
  readonly connections: () => number
  /** Fails the next `times` requests whose `METHOD /path?query` matches. Default: all. */
  readonly fail: (match: RegExp, fault: S3Fault, times?: number) => void
  readonly heal: () => void
  readonly stop: () => Promise<void>
}

export const startFaults: (origin: string) => Promise<S3Faults>
