/**
 * The settings of a provider.
 *
 * @since 0.1.0
 */
import type { Options as RetryBudgetOptions } from "@model-gateway/core/RetryBudget"
import type { Preset } from "@model-gateway/core/WireNames"

/**
 * The settings of a provider over any `HttpClient`.
 *
 * @category options
 * @since 0.1.0
 */
export interface ModelGatewayClientSettings {
  /**
   * The gateway's address, ending in `/api/v1`. Default: `MODEL_GATEWAY_BASE_URL` of the
   * environment, or else `http://127.0.0.1:8787/api/v1`.
   */
  readonly baseURL?: string | undefined
  /**
   * The key, or a function that returns it. The function runs before every request, and once more
   * after the gateway rejected the key. In a page, return a short-lived key that your server
   * created. Default: `MODEL_GATEWAY_API_KEY` of the environment. The environment is read by the
   * first call, which rejects with `LoadAPIKeyError` if it has no key.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** Headers of every request. Those of a call replace them. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * The workspace of files. Default: `MODEL_GATEWAY_WORKSPACE_ID` of the environment, or else the
   * key's default workspace.
   */
  readonly workspaceId?: string | undefined
  /**
   * The words for vendors on the wire: `neutral`, or `openrouter` for a service that uses those of
   * OpenRouter's clients. Default: `MODEL_GATEWAY_WIRE_NAMES` of the environment, or else
   * `neutral`.
   */
  readonly wireNames?: Preset | undefined
  /** The budget of retries that all calls of the provider share. Default: as for all clients. */
  readonly retryBudget?: RetryBudgetOptions | undefined
}

/**
 * The settings of a provider over `fetch`.
 *
 * @category options
 * @since 0.1.0
 */
export interface ModelGatewayProviderSettings extends ModelGatewayClientSettings {
  /** Replaces `fetch`, such as for a proxy or in a test. Default: the runtime's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
}
