/**
 * Every adapter. A new one is added here.
 *
 * @since 0.1.0
 */
import type { Adapter } from "./Adapter.ts"
import * as Cohere from "./Cohere.ts"
import * as Fal from "./Fal.ts"
import * as Replicate from "./Replicate.ts"
import * as Gateway from "./Gateway.ts"

/**
 * Every adapter, in the order in which their models are listed.
 *
 * @since 0.1.0
 */
export const adapters: ReadonlyArray<Adapter> = [Cohere.adapter, Replicate.adapter, Fal.adapter, Gateway.adapter]
