import type { Double, StartOptions } from "./Double.mjs"

export interface VllmOptions extends StartOptions {
  /** The server whose form it has. Default: `vllm`. */
  readonly server?: "vllm" | "infinity" | "localai" | "llamacpp"
}

export declare const startVllmDouble: (options: VllmOptions) => Promise<Double>
