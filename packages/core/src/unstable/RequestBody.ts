/**
 * The step of a request between its authorization and its handler.
 *
 * @since 0.1.0
 */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"

/**
 * Reads the body within the limits that the operation declares. The service implements it.
 *
 * @category middleware
 * @since 0.1.0
 */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("@model-gateway/core/unstable/RequestBody") {}
