/**
 * Guardrails of an organisation, and which keys hold them. A key holds at most one; assigning another replaces it.
 */
import { Context, Data, type Effect } from "effect"
import type { MicroCredits } from "../accounting/MicroCredits.ts"
import type { LimitReset } from "../keys/Periods.ts"
import type { Page, PageRequest } from "../storage/Page.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Guardrail } from "./Guardrail.ts"

/** What a new guardrail is; what is left out is null. */
export interface CreateGuardrail {
  readonly organizationId: string
  readonly name: string
  readonly description?: string | null | undefined
  readonly limit?: MicroCredits | null | undefined
  readonly limitReset?: LimitReset | null | undefined
  readonly allowedModels?: ReadonlyArray<string> | null | undefined
  readonly allowedProviders?: ReadonlyArray<string> | null | undefined
}

/** What of a guardrail can be changed; what is left out stays. */
export type UpdateGuardrail = Partial<Omit<CreateGuardrail, "organizationId">>

/** What an assignment did. */
export interface Assignment {
  /** Each known key of the organisation once, whether it changed or not. */
  readonly assignedCount: number
  /** Hashes of no key of the organisation, each once, in the order given. */
  readonly notFound: ReadonlyArray<string>
  /** Keys that held another guardrail before. */
  readonly replaced: ReadonlyArray<{ readonly keyHash: string; readonly previousGuardrailId: string }>
}

/** What taking keys off a guardrail did. */
export interface Removal {
  /** Keys that held it and no longer do. */
  readonly removedCount: number
  /** Hashes of no key of the organisation, each once, in the order given. */
  readonly notFound: ReadonlyArray<string>
}

/** A key that holds a guardrail. */
export interface AssignedKey {
  readonly keyHash: string
  readonly name: string
  readonly label: string
}

/** The organisation has no such guardrail (status 404). */
export class GuardrailNotFound extends Data.TaggedError("GuardrailNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such guardrail."
}

/** The guardrail service. Every method looks only at the organisation named. */
export class GuardrailStore extends Context.Service<
  GuardrailStore,
  {
    readonly create: (input: CreateGuardrail) => Effect.Effect<Guardrail, StorageError>
    readonly get: (organizationId: string, id: string) => Effect.Effect<Guardrail, GuardrailNotFound | StorageError>
    /** Newest first. */
    readonly list: (organizationId: string, page?: PageRequest) => Effect.Effect<Page<Guardrail>, StorageError>
    readonly update: (
      organizationId: string,
      id: string,
      change: UpdateGuardrail
    ) => Effect.Effect<Guardrail, GuardrailNotFound | StorageError>
    /** Deletes it; keys that held it hold none afterwards. */
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, GuardrailNotFound | StorageError>
    /** Gives the guardrail to the keys, in one transaction; a hash that comes twice counts once. */
    readonly assign: (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>
    ) => Effect.Effect<Assignment, GuardrailNotFound | StorageError>
    /** Takes the guardrail from those of the keys that hold it. */
    readonly unassign: (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>
    ) => Effect.Effect<Removal, GuardrailNotFound | StorageError>
    /** The keys that hold it, oldest key first. */
    readonly assignments: (
      organizationId: string,
      id: string,
      page?: PageRequest
    ) => Effect.Effect<Page<AssignedKey>, GuardrailNotFound | StorageError>
  }
>()("@model-gateway/server/guardrails/GuardrailStore") {}
