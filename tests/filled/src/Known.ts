/** What a filled gateway has, so that a test finds it. */

/** An ordinary key. */
export interface Key {
  readonly name: string
  readonly key: string
  readonly hash: string
}

export interface Known {
  /** When it was filled, in milliseconds since the epoch. */
  readonly filledAt: number
  /** The port of the receiver of webhooks and events, which is part of stored URLs. */
  readonly receiverPort: number
  /** Management keys, by role. The operator is restricted to the workspace `research`. */
  readonly managementKey: string
  readonly viewerKey: string
  readonly operatorKey: string
  readonly keys: ReadonlyArray<Key>
  /** It expires a day after the filling. */
  readonly expiringKey: Key
  readonly disabledKey: Key
  /** The credits of `support` are running low. */
  readonly workspaces: { readonly default: string; readonly research: string; readonly support: string }
  /** `production` has used 90 % of its limit. */
  readonly guardrails: { readonly production: string; readonly interns: string; readonly noVideo: string }
  readonly destinations: { readonly delivering: string; readonly failing: string; readonly paused: string }
  readonly providerKeys: { readonly working: string; readonly refused: string; readonly disabled: string }
  /** Ids of requests. The first failed at two providers, the second was served by another one. */
  readonly failedRequest: string
  readonly fallbackRequest: string
  /** A request that was under way when the process died. */
  readonly abandonedReservation: string
  readonly videos: {
    readonly completed: string
    readonly failed: string
    readonly cancelled: string
    readonly expired: string
  }
}
