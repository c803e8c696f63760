/**
 * The session of an agent: with which client its tools call the gateway, and what it may spend. A
 * process over stdio has one. Over HTTP each session of the protocol has its own, and so its own
 * key.
 *
 * @since 0.1.0
 */
import type { Gateway } from "@model-gateway/core/Gateway"
import type { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as Context from "effect/Context"
import { constFalse } from "effect/Function"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CreditLimit from "./CreditLimit.ts"

/**
 * @category services
 * @since 0.1.0
 */
export class Session extends Context.Service<
  Session,
  {
    /** The client of the session's key. */
    readonly gateway: Context.Context<Gateway | GatewayClient>
    readonly credits: CreditLimit.CreditLimit
    /** What the video jobs that the session submitted, and that have not ended yet, may cost. */
    readonly jobs: Map<string, CreditLimit.Reservation>
    /** See {@link Options}. */
    readonly baseUrl: string | undefined
    /** See {@link Options}. */
    readonly keepsJobs: () => boolean
  }
>()("@model-gateway/mcp/Session") {}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** What the session may spend, in credits. Default: only the gateway's own limits apply. */
  readonly maxCredits?: number | undefined
  /**
   * The gateway's address, ending in `/api/v1`. Results then have the addresses of finished videos,
   * for a person who has the key. Default: none.
   */
  readonly baseUrl?: string | undefined
  /**
   * Whether the job of a `make_video` that is interrupted goes on. Otherwise it is canceled, because
   * the agent canceled the call or is gone. Default: it is canceled.
   */
  readonly keepsJobs?: (() => boolean) | undefined
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (gateway: Context.Context<Gateway | GatewayClient>, options: Options = {}): Session["Service"] =>
  Session.of({
    gateway,
    credits: CreditLimit.make(options.maxCredits),
    jobs: new Map(),
    baseUrl: options.baseUrl,
    keepsJobs: options.keepsJobs ?? constFalse
  })

/**
 * Provides one session over the client in the context.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Session, never, Gateway | GatewayClient> =>
  Layer.effect(
    Session,
    Effect.map(Effect.context<Gateway | GatewayClient>(), (context) => make(context, options))
  )
