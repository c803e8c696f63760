import type { Scripted, StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

/** Errors as ModelArk documents them. */
export declare const documentedErrors: Readonly<
  Record<"sensitive" | "invalidKey" | "overdue" | "notOpen" | "noTask" | "rateLimit" | "server", Scripted>
>

export interface ModelArkDouble extends JobDouble {
  /** Sets the codes of the next jobs that fail. `expired` is a job that was not done in time. */
  readonly failWith: (...codes: ReadonlyArray<string>) => void
}

export declare const startModelArkDouble: (
  options: StartOptions & { readonly polls?: number }
) => Promise<ModelArkDouble>
