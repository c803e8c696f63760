/**
 * Workspaces of an organisation, who may act in which, and the first ones of all.
 *
 * An ordinary key is a member of its own workspace, a management key of all of its organisation's.
 */
import { Context, Data, type Effect, type Redacted } from "effect"
import type { MicroCredits } from "../accounting/MicroCredits.ts"
import type { Key } from "../keys/KeyStore.ts"
import type { Page, PageRequest } from "../storage/Page.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** The form of a file deletion's answer. */
export type FileShape = "native" | "compat_a" | "compat_b"

/** A workspace as it is stored. Times are epoch milliseconds, money is micro-credits. */
export interface Workspace {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** The organisation's workspace for callers that name none. */
  readonly isDefault: boolean
  /** HTTPS URL told of finished videos when the request names none; null: nobody. */
  readonly defaultCallbackUrl: string | null
  /** Default `native`. */
  readonly fileShape: FileShape
  readonly balance: MicroCredits
  readonly createdAt: number
  readonly updatedAt: number
}

/** What of a workspace can be changed; what is left out stays. */
export interface UpdateWorkspace {
  readonly name?: string | undefined
  readonly defaultCallbackUrl?: string | null | undefined
  readonly fileShape?: FileShape | undefined
}

/** What the first run made. The plain keys are shown once and cannot be had again. */
export interface Bootstrapped {
  readonly workspace: Workspace
  readonly managementKey: Redacted.Redacted<string>
  readonly ordinaryKey: Redacted.Redacted<string>
}

/** What the first run makes. */
export interface BootstrapOptions {
  /** Credits of the default workspace; default 10 credits. */
  readonly credits?: MicroCredits | undefined
}

/** There is no such workspace in the organisation (status 404). */
export class WorkspaceNotFound extends Data.TaggedError("WorkspaceNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such workspace."
}

/** The caller is no member of the workspace it named, or there is none of that id: which of the two is not told (status 403). */
export class NotAMember extends Data.TaggedError("NotAMember")<{
  readonly workspaceId: string
}> {
  override readonly message = "This key is not a member of the workspace."
}

/** The workspace service. */
export class WorkspaceStore extends Context.Service<
  WorkspaceStore,
  {
    readonly get: (organizationId: string, id: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /** By id alone: for the command line and for jobs, which act for the operator. */
    readonly find: (id: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /** Oldest first. */
    readonly list: (organizationId: string, page?: PageRequest) => Effect.Effect<Page<Workspace>, StorageError>
    readonly create: (organizationId: string, name: string) => Effect.Effect<Workspace, StorageError>
    readonly update: (
      organizationId: string,
      id: string,
      change: UpdateWorkspace
    ) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /**
     * The workspace a request acts in: the one it names, or the caller's default (an ordinary key's own, a management key's organisation's default). Fails with
     * {@link NotAMember} when the caller may not act there.
     */
    readonly resolve: (
      key: Key,
      workspaceId?: string | undefined
    ) => Effect.Effect<Workspace, NotAMember | StorageError>
    /** The first organisation's default workspace, made with its credits when there is none yet. What the command line acts on. */
    readonly ensureDefault: (options?: BootstrapOptions) => Effect.Effect<Workspace, StorageError>
    /**
     * On the first run: an organisation, its default workspace with credits, a management key and an ordinary key. Null on every later run, and for all but one of several
     * processes that try at once.
     */
    readonly bootstrap: (options?: BootstrapOptions) => Effect.Effect<Bootstrapped | null, StorageError>
  }
>()("@model-gateway/server/workspaces/WorkspaceStore") {}
