/**
 * Deletes files that a provider stores, with the caller's own key for it. Its failures become the
 * statuses of DELETE `/files/{file_id}`.
 */
import type { FileProvider } from "@model-gateway/core/Files"
import { BadGateway, Forbidden, NotFound, phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import type { ProviderError } from "@model-gateway/providers/ProviderError"
import { Duration, Effect } from "effect"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import { FileProviders } from "../objects/FileProviders.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"

const notFound = (reason: string) => new NotFound({ error: { message: `${phrases[404]}: ${reason}` } })

const forbidden = (reason: string) => new Forbidden({ error: { message: `${phrases[403]}: ${reason}` } })

const failureOf = (provider: FileProvider, id: string, { reason, status }: ProviderError) => {
  if (status === 404) return notFound(`there is no file ${id} at ${provider}`)
  switch (reason._tag) {
    case "InvalidRequest":
    case "InputTooLarge":
      return notFound(reason.message)
    case "Unauthorized":
      return forbidden(`${provider} rejected your key for it`)
    case "RateLimited":
    case "Overloaded":
      return new ServiceUnavailable({
        error: {
          message: `${phrases[503]}: ${provider} is overloaded`,
          metadata: {
            retry_after: Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter ?? Duration.seconds(1))))
          }
        }
      })
    default:
      return new BadGateway({ error: { message: phrases[502], metadata: { provider } } })
  }
}

/** Makes the deletion over the providers and keys in the context. */
export const make = Effect.gen(function* () {
  const apis = yield* FileProviders
  const ownKeys = yield* OwnKeys.OwnKeys

  return Effect.fnUntraced(function* (provider: FileProvider, id: string, workspaceId: string) {
    const caller = yield* currentCaller
    // Nobody knows who created a file there.
    if (limitedTo(caller) !== undefined) return yield* notFound(`there is no file ${id}`)
    const api = apis[provider]
    const keys = api === undefined ? [] : yield* ownKeys.of(caller, workspaceId)
    const key = keys.find(
      ({ allowedModels, credential, provider }) =>
        provider === api?.provider && allowedModels === null && credential !== undefined
    )
    if (api === undefined || key?.credential === undefined) {
      return yield* forbidden(`the gateway has no key of yours for ${provider}, on which this file would be`)
    }
    yield* Effect.catch(api.remove(id, key.credential), (error) => Effect.fail(failureOf(provider, id, error)))
  })
})
