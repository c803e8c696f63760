import type { Double, Scripted, StartOptions } from "./Double.mjs"

/** An access key. */
export interface AccessKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export declare const documentedErrors: Readonly<
  Record<
    | "wrongSignature"
    | "wrongToken"
    | "wrongKey"
    | "noAccess"
    | "noModel"
    | "throttled"
    | "notReady"
    | "timeout"
    | "unavailable"
    | "server",
    Scripted
  >
>

export declare const startBedrockDouble: (
  options: StartOptions & {
    readonly pairs?: ReadonlyArray<AccessKey>
    /** Default: `us-west-2`. */
    readonly region?: string
    /** The time in milliseconds. Default: the system's. */
    readonly now?: () => number
  }
) => Promise<Double>
