/**
 * Files that a provider stores, with the caller's provider key. The failures become statuses of
 * the operation.
 */
import type { FileProvider, Order } from "@model-gateway/core/Files"
import {
  BadGateway,
  BadRequest,
  Forbidden,
  NotFound,
  PayloadTooLarge,
  phrases,
  ServiceUnavailable
} from "@model-gateway/core/GatewayError"
import type { FileApi, FileUpload } from "@model-gateway/offers/FileApi"
import type { Credential } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { Duration, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import { allowsProvider } from "../access/Guardrail.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import type { Cursor } from "../http/Paging.ts"
import { FileProviders } from "../objects/FileProviders.ts"
import * as AllowedProviderKeys from "./AllowedProviderKeys.ts"
import * as Upload from "../http/Upload.ts"

const notFound = (reason: string) => new NotFound({ error: { message: `${phrases[404]}: ${reason}` } })

const forbidden = (reason: string) => new Forbidden({ error: { message: `${phrases[403]}: ${reason}` } })

const invalid = (reason: string) => new BadRequest({ error: { message: `${phrases[400]}: ${reason}` } })

const tooLarge = (reason: string) => new PayloadTooLarge({ error: { message: `${phrases[413]}: ${reason}` } })

const noSuchFile = (id: string, provider: FileProvider) => notFound(`there is no file ${id} at "${provider}"`)

/** The answers that only some of the operations have. */
interface Answers<Missing, Invalid, Large> {
  readonly missing: () => Missing
  readonly invalid: (reason: string) => Invalid
  readonly large: (reason: string) => Large
}

const failureOf = <Missing, Invalid, Large>(
  provider: FileProvider,
  { reason, status }: ProviderError,
  answers: Answers<Missing, Invalid, Large>
) => {
  if (status === 404) return answers.missing()
  switch (reason._tag) {
    case "InvalidRequest":
      return answers.invalid(reason.message)
    case "InputTooLarge":
      return answers.large(reason.message)
    case "Unauthorized":
      return forbidden(`"${provider}" rejected your key for it`)
    case "RateLimited":
    case "Overloaded":
      return new ServiceUnavailable({
        error: {
          message: `${phrases[503]}: "${provider}" is overloaded`,
          metadata: {
            retry_after: Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter ?? Duration.seconds(1))))
          }
        }
      })
    default:
      return badGateway(provider)
  }
}

const badGateway = (provider: FileProvider) =>
  new BadGateway({ error: { message: phrases[502], metadata: { provider } } })

/** The number of files of a page, as in lists of the gateway's own files. */
const defaultLimit = 100

/** Makes the operations over the providers and keys in the context. */
export const make = Effect.gen(function* () {
  const apis = yield* FileProviders
  const allowedKeys = yield* AllowedProviderKeys.AllowedProviderKeys

  /** The provider's files and the first key that the caller may use for them. */
  const grantOf = Effect.fnUntraced(function* (provider: FileProvider, workspaceId: string) {
    const caller = yield* currentCaller
    const api = apis()[provider]
    const { guardrail } = caller
    if (api !== undefined && guardrail !== null && !allowsProvider(guardrail, api.provider)) {
      return yield* forbidden(
        `the guardrail "${guardrail.name}" of this key does not allow the provider "${api.provider}"`
      )
    }
    const keys = api === undefined ? [] : yield* allowedKeys.of(caller, workspaceId)
    const key = keys.find(
      ({ allowedModels, credential, provider }) =>
        provider === api?.provider && allowedModels === null && credential !== undefined
    )
    if (api === undefined || key?.credential === undefined) {
      return yield* forbidden(`there is no provider key for "${provider}" that you may use for files`)
    }
    return { api, credential: key.credential }
  })

  /** Calls the provider with that key. */
  const ask = Effect.fnUntraced(function* <A, Missing, Invalid, Large>(
    provider: FileProvider,
    workspaceId: string,
    call: (api: FileApi, credential: Credential) => Effect.Effect<A, ProviderError>,
    answers: Answers<Missing, Invalid, Large>
  ) {
    const { api, credential } = yield* grantOf(provider, workspaceId)
    return yield* Effect.catch(call(api, credential), (error) => Effect.fail(failureOf(provider, error, answers)))
  })

  /** Nobody knows who created a file there, so such a caller sees none. */
  const isLimited = Effect.map(currentCaller, (caller) => limitedTo(caller) !== undefined)

  const limited = (provider: FileProvider) =>
    forbidden(`this key sees its own files only, and "${provider}" does not know which these are`)

  const ofFile = (provider: FileProvider, id: string) => ({
    missing: () => noSuchFile(id, provider),
    invalid,
    large: invalid
  })

  return {
    upload: Effect.fnUntraced(function* (
      provider: FileProvider,
      request: HttpServerRequest.HttpServerRequest,
      workspaceId: string
    ) {
      if (yield* isLimited) return yield* limited(provider)
      const { api, credential } = yield* grantOf(provider, workspaceId)
      const send = (file: FileUpload) =>
        Effect.catch(api.upload(file, credential), (error) =>
          Effect.fail(failureOf(provider, error, { missing: () => badGateway(provider), invalid, large: tooLarge }))
        )
      return yield* Upload.passOn(request, yield* BodyLimit.ofRequest, send)
    }),
    list: Effect.fnUntraced(function* (
      provider: FileProvider,
      { after, limit = defaultLimit, order }: Cursor & { readonly order?: Order },
      workspaceId: string
    ) {
      if (yield* isLimited) return yield* limited(provider)
      const missing = () => (after === undefined ? badGateway(provider) : noSuchFile(after, provider))
      return yield* ask(provider, workspaceId, (api, credential) => api.list({ after, limit, order }, credential), {
        missing,
        invalid,
        large: invalid
      })
    }),
    get: Effect.fnUntraced(function* (provider: FileProvider, id: string, workspaceId: string) {
      if (yield* isLimited) return yield* noSuchFile(id, provider)
      return yield* ask(provider, workspaceId, (api, credential) => api.get(id, credential), ofFile(provider, id))
    }),
    content: Effect.fnUntraced(function* (provider: FileProvider, id: string, workspaceId: string) {
      if (yield* isLimited) return yield* noSuchFile(id, provider)
      return yield* ask(provider, workspaceId, (api, credential) => api.content(id, credential), ofFile(provider, id))
    }),
    // Deletion has no 400.
    remove: Effect.fnUntraced(function* (provider: FileProvider, id: string, workspaceId: string) {
      if (yield* isLimited) return yield* noSuchFile(id, provider)
      yield* ask(provider, workspaceId, (api, credential) => api.remove(id, credential), {
        missing: () => noSuchFile(id, provider),
        invalid: notFound,
        large: notFound
      })
    })
  }
})
