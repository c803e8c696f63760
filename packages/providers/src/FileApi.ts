/**
 * Files that a provider stores for an account of its own, called with a provider key of the caller.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Credential } from "./Offer.ts"
import type { ProviderError } from "./ProviderError.ts"
import type { UpstreamHttp } from "./UpstreamHttp.ts"

/**
 * The files of a provider.
 *
 * @since 0.1.0
 */
export interface FileApi {
  /** The name under which callers store their key, such as `openai`. */
  readonly provider: string
  /**
   * Deletes a file of the credential's account. The error's `status` is 404 if there is no such
   * file.
   */
  readonly remove: (id: string, credential: Credential) => Effect.Effect<void, ProviderError>
}

const Deleted = Schema.Struct({ id: Schema.String })

/**
 * Makes the deletion: DELETE of a path that ends in the file's id, answered with that id.
 *
 * @since 0.1.0
 */
export const removeBy =
  (http: UpstreamHttp, path: string, headers: Readonly<Record<string, string>> = {}): FileApi["remove"] =>
  (id, credential) =>
    Effect.asVoid(
      http.json(
        {
          request: HttpClientRequest.delete(`${path}/${encodeURIComponent(id)}`).pipe(
            HttpClientRequest.acceptJson,
            HttpClientRequest.setHeaders(headers)
          ),
          credential,
          model: "files"
        },
        Deleted
      )
    )
