/**
 * Checks that HTTP itself requires, before routing. Node's own answers have no error envelope. The
 * attacks `host-headers` and `paths` are on these checks.
 */
import { phrases } from "@model-gateway/core/GatewayError"
import type { HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import type { Failure } from "./Envelope.ts"
import { noSuchPath } from "./Failures.ts"
import * as Routes from "./Routes.ts"

const wrongHost = (problem: string): Failure => ({
  status: 400,
  message: `${phrases[400]}: ${problem}`,
  metadata: { issues: [{ path: "host", message: "Expected one Host header" }] },
  headers: { connection: "close" }
})

const noHost = wrongHost("the Host header is missing")

const severalHosts = wrongHost("there is more than one Host header")

const unknownExpectation: Failure = {
  status: 417,
  message: 'expectation failed: the only expectation that can be met is "100-continue"'
}

/** The same test as Node's. */
const continues = /(?:^|\W)100-continue(?:$|\W)/i

/**
 * How many headers of a request have this name. Of several, Node's `headers` has the first; a proxy
 * in front may use the last. Node's `headersDistinct` would make an object of all headers.
 */
const countOf = ({ rawHeaders }: IncomingMessage, name: string): number => {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const found = rawHeaders[at]
    if (found?.length === name.length && found.toLowerCase() === name) count++
  }
  return count
}

/**
 * Why the request is rejected. Undefined if it is valid. RFC 9112 requires exactly one Host header
 * (HTTP/1.0 had none). An absolute target (`GET http://host/path`) is normalized before it gets
 * here, so it must have been in normal form already.
 */
export const refusalOf = ({
  headers,
  originalUrl,
  source,
  url
}: HttpServerRequest.HttpServerRequest): Failure | undefined => {
  if (source instanceof IncomingMessage) {
    const hosts = countOf(source, "host")
    if (hosts > 1) return severalHosts
    if (hosts === 0 && source.httpVersion !== "1.0") return noHost
    const expected = source.httpVersion === "1.0" ? undefined : headers["expect"]
    if (expected !== undefined && !continues.test(expected)) return unknownExpectation
  }
  return Routes.isExactPath(url) && originalUrl.endsWith(url) ? undefined : noSuchPath.failure
}
