import type { Double, Recorded, Scripted, StartOptions } from "./Double.mjs"

export declare const documentedMessages: Readonly<
  Record<400 | 401 | 402 | 403 | 404 | 422 | 429 | 498 | 499 | 500 | 501 | 503 | 504, string>
>

/** The answer to a request with one of these keys. */
export declare const answerTo: (request: Recorded, keys: ReadonlySet<string>) => Scripted

export declare const startCohereDouble: (options: StartOptions) => Promise<Double>
