/**
 * Bytes that no HTTP client would send: randomly corrupted requests and well-known malformed HTTP.
 */
import { requestBytes } from "../client.ts"
import { mutatedBytes } from "./mutations.ts"
import type { Random } from "./random.ts"

const body = '{"model":"sandbox/bm25","query":"tea","documents":["tea"]}'

type Headers = Readonly<Record<string, string>>

interface Asked {
  readonly method: string
  readonly path: string
  /** `Host`, and the key if there is one. */
  readonly headers: Headers
}

const head = (lines: ReadonlyArray<string>, headers: Headers, after = ""): Buffer =>
  Buffer.from(
    [...lines, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), "", after].join("\r\n"),
    "latin1"
  )

const chunked = { "transfer-encoding": "chunked" }
const length = { "content-length": String(body.length) }

const classics: ReadonlyArray<(asked: Asked) => Buffer> = [
  ({ headers }) => head(["OPTIONS * HTTP/1.1"], headers),
  ({ headers }) => head(["CONNECT example.com:443 HTTP/1.1"], headers),
  ({ headers, path }) => head([`GET http://example.com${path} HTTP/1.1`], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/1.0`], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/2.0`], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/1.1`], { ...headers, upgrade: "websocket", connection: "upgrade" }),
  ({ headers, path }) => head([`GET ${path} HTTP/1.1`], { ...headers, cookie: "a".repeat(20_000) }),
  ({ headers, path }) =>
    head([`GET ${path} HTTP/1.1`, ...Array.from({ length: 3000 }, (_, at) => `x-${at}: 1`)], headers),
  ({ headers, path }) => head([`GET ${path}?${"a".repeat(20_000)} HTTP/1.1`], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/1.1`, " folded: header"], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/1.1`, "x: a\u0000b"], headers),
  ({ headers, path }) => head([`GET ${path} HTTP/1.1`, "a b: c"], headers),
  ({ headers, path }) =>
    Buffer.from(
      head([`GET ${path} HTTP/1.1`], headers)
        .toString("latin1")
        .replaceAll("\r", "")
    ),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, ...chunked, ...length }, body),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, "content-length": "-1" }, body),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, "content-length": "1e3" }, body),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, "content-length": "9".repeat(30) }, body),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`, "content-length: 1"], { ...headers, ...length }, body),
  ({ headers, path }) =>
    head([`POST ${path} HTTP/1.1`], { ...headers, ...chunked }, `${"f".repeat(20)}\r\n${body}\r\n`),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, ...chunked }, `-1\r\n${body}\r\n0\r\n\r\n`),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, ...chunked }, "1;a=b\r\n{\r\n0\r\nx: y\r\n\r\n"),
  ({ headers, path }) =>
    head([`POST ${path} HTTP/1.1`], { ...headers, ...chunked }, `1;${"a".repeat(20_000)}\r\n{\r\n0\r\n\r\n`),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, ...length, expect: "100-continue" }, body),
  ({ headers, path }) => head([`POST ${path} HTTP/1.1`], { ...headers, "transfer-encoding": "gzip, chunked" }, body),
  ({ headers, path }) =>
    Buffer.concat(
      Array.from({ length: 10 }, () => head([`GET ${path} HTTP/1.1`], { ...headers, connection: "keep-alive" }))
    ),
  () => Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  () => Buffer.from("1603010200010001fc0303", "hex"),
  () => Buffer.from("\r\n\r\n\r\n"),
  () => Buffer.from("GET / HTTP/0.9\r\n\r\n"),
  () => Buffer.alloc(5000, 0)
]

/** The bytes for a path and a key. */
export const make = (random: Random, method: string, path: string, authorization: string | undefined): Buffer => {
  const headers = {
    host: "127.0.0.1",
    ...(authorization === undefined ? undefined : { authorization }),
    "content-type": "application/json",
    connection: "close"
  }
  if (random.chance(0.4)) return random.pickOr(classics, () => Buffer.alloc(1))({ method, path, headers })
  const sent = random.chance(0.5) ? body : ""
  const framing: Headers = random.pick<Headers>([{ "content-length": String(sent.length) }, chunked])
  return mutatedBytes(random, requestBytes(method, path, { ...headers, ...framing }, sent))
}
