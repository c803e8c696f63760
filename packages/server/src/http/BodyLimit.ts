/**
 * How large a request's body may be, by operation: refused by its `Content-Length` before a byte is read, or as soon as more than the limit has come.
 */
import { BadRequest, phrases } from "@model-gateway/core/GatewayError"
import { ByteSize, Context, Effect, FileSystem } from "effect"
import {
  HttpIncomingMessage,
  HttpMethod,
  HttpServerError,
  HttpServerRequest,
  type HttpServerResponse,
  Multipart
} from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { GatewayServerConfig, type BodyLimits } from "../GatewayServerConfig.ts"
import * as FormParts from "./FormParts.ts"
import { RequestContext } from "./RequestContext.ts"

/** Room for a form's other fields and the lines between its parts. */
const formOverhead = 1024 * 1024

/** The parser counts a part's headers with its content, and takes at most 16 KiB of them. */
const partOverhead = 32 * 1024

interface Limit {
  readonly body: number
  readonly file?: number
}

const limitOf = (limits: BodyLimits, operation: string, isForm: boolean): Limit => {
  switch (operation) {
    case "rerank":
      return { body: limits.rerank }
    case "transcribe":
      return isForm
        ? { body: limits.transcriptionFile + formOverhead, file: limits.transcriptionFile }
        : { body: limits.transcription }
    case "submitVideo":
      return { body: limits.videos }
    case "uploadFile":
      return { body: limits.files + formOverhead, file: limits.files }
    default:
      return { body: limits.other }
  }
}

/** The request with the form read by {@link FormParts}, which refuses what Effect's own reader stumbles over. */
const withBoundedForm = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest =>
  new Proxy(request, {
    get: (target, name): unknown => (name === "multipart" ? FormParts.persist(request) : Reflect.get(target, name))
  })

/** A packed body would pass for one that is no JSON. */
const packed = new BadRequest({
  error: {
    message: `${phrases[400]}: the body is compressed, which is not supported`,
    metadata: { issues: [{ path: "content-encoding", message: "Expected a body that is not compressed" }] }
  }
})

/**
 * Runs an operation under its limit. A body that declares itself too large is not read at all; one that does not say its size is read up to the limit.
 */
export const guard = <E, R>(
  endpoint: HttpApiEndpoint.Top,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  HttpMethod.hasBody(endpoint.method)
    ? Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const isForm = request.headers["content-type"]?.toLowerCase().startsWith("multipart/") ?? false
        const limit = limitOf(fiber.getRef(GatewayServerConfig).bodyLimits, endpoint.identifier, isForm)
        Context.getUnsafe(fiber.context, RequestContext).bodyLimit = limit.file ?? limit.body
        if (Number(request.headers["content-length"] ?? 0) > limit.body) {
          return Effect.die(
            new HttpServerError.HttpServerError({
              reason: new HttpServerError.RequestParseError({ request, reason: "BodyTooLarge" })
            })
          )
        }
        const encoding = request.headers["content-encoding"]
        if (encoding !== undefined && encoding.toLowerCase() !== "identity") return Effect.die(packed)
        const bounded = Effect.provideService(httpEffect, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit.body))
        return limit.file === undefined
          ? bounded
          : bounded.pipe(
              Effect.provideService(Multipart.MaxFileSize, ByteSize.bytes(limit.file + partOverhead)),
              Effect.provideService(HttpServerRequest.HttpServerRequest, withBoundedForm(request))
            )
      })
    : httpEffect

/**
 * Holds a file that a form brought, and that lies at `path`, to the limit of its operation to the byte; one that is larger is refused as any body is. While a form is read, its
 * file is held to that limit with some room only, as what is counted then are its headers too.
 */
export const holdFile = (path: string): Effect.Effect<void, never, FileSystem.FileSystem | RequestContext> =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const { bodyLimit } = yield* RequestContext
    const { size } = yield* Effect.orDie(fileSystem.stat(path))
    if (bodyLimit !== undefined && size > bodyLimit) {
      return yield* Effect.die(Multipart.MultipartError.fromReason("FileTooLarge"))
    }
  })
