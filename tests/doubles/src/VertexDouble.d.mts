import type { Scripted, StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

/** An error as Google sends it. */
export declare const googleError: (
  code: number,
  status: string,
  message: string,
  details?: ReadonlyArray<object>
) => Scripted

/** Errors as Google documents them. */
export declare const documentedErrors: Readonly<
  Record<"unauthenticated" | "denied" | "noBilling" | "noModel" | "exhausted" | "internal", Scripted>
>

/** The project of the service account and of the machine. */
export declare const project: string

/** The key file of a service account. */
export interface ServiceAccount {
  readonly type: string
  readonly project_id: string
  readonly private_key_id: string
  readonly private_key: string
  readonly client_email: string
  readonly token_uri: string
}

export interface VertexDouble extends JobDouble {
  /** Sets how the next jobs that fail do so: with an error, or by moderation (`filtered`). */
  readonly failWith: (
    ...failures: ReadonlyArray<{ readonly code: number | "filtered"; readonly message?: string }>
  ) => void
  /** Makes all access tokens invalid. */
  readonly revoke: () => void
  /** The key file of the service account that it knows. */
  readonly serviceAccount: (more?: Partial<ServiceAccount>) => ServiceAccount
}

/** `keys` are access tokens. */
export declare const startVertexDouble: (options: StartOptions & { readonly polls?: number }) => Promise<VertexDouble>
