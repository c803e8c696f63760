/**
 * Requests to free models, counted for a key and a UTC day.
 */
import { Context, Data, type Effect } from "effect"
import type { StorageError } from "../storage/StorageError.ts"

/** As in the key record's `free_model_daily_requests`. */
export interface FreeModelDay {
  readonly limit: number
  readonly used: number
  readonly remaining: number
}

/** A request that was counted; keep it to give it back. */
export interface FreeModelTake extends FreeModelDay {
  readonly keyHash: string
  /** Start of the UTC day it counts for, in epoch milliseconds. */
  readonly day: number
}

/** All free requests of the day are used (status 429). `retryAfter` is the whole seconds until the next UTC day. */
export class FreeModelDayUsedUp extends Data.TaggedError("FreeModelDayUsedUp")<{
  readonly limit: number
  readonly used: number
  readonly retryAfter: number
  readonly message: string
}> {}

/** The counter. */
export class FreeModelDays extends Context.Service<
  FreeModelDays,
  {
    /** Counts one request, atomically; `limit` is the key's `freeDailyLimit`. */
    readonly take: (keyHash: string, limit: number) => Effect.Effect<FreeModelTake, FreeModelDayUsedUp | StorageError>
    /**
     * Takes the count back. For a request that the gateway itself refused before any upstream was called; one that an upstream failed stays counted, or else failing
     * requests would be free without end.
     */
    readonly giveBack: (take: FreeModelTake) => Effect.Effect<void, StorageError>
    /** Where the key stands today. */
    readonly read: (keyHash: string, limit: number) => Effect.Effect<FreeModelDay, StorageError>
  }
>()("@model-gateway/server/rates/FreeModelDays") {}
