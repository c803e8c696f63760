/**
 * Corrupts an answer of an upstream: its values, its bytes, its status, its headers, its length.
 */
import { gzipSync } from "node:zlib"
import { mutatedBytes, mutatedJson } from "../fuzz/mutations.ts"
import type { Random } from "../fuzz/random.ts"
import type { Right } from "./exchanges.ts"

/** An answer as it is written to the socket. */
export interface Sent {
  /** What was changed, as the table names it. */
  readonly kind: string
  readonly bytes: Buffer
}

const reasons: Readonly<Record<number, string>> = { 200: "OK", 404: "Not Found", 500: "Internal Server Error" }

interface Parts {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly body: Buffer
}

const write = ({ body, headers, status }: Parts): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        `HTTP/1.1 ${status} ${reasons[status] ?? "Odd"}`,
        ...headers.map(([name, value]) => `${name}: ${value}`),
        "",
        ""
      ].join("\r\n"),
      "latin1"
    ),
    body
  ])

const plain = (body: Buffer, type: string, status = 200): Parts => ({
  status,
  headers: [
    ["content-type", type],
    ["content-length", String(body.length)],
    ["connection", "close"]
  ],
  body
})

const jsonType = "application/json"

/** Numbers that are no count, no score and no time, as JSON texts. */
const numbers = [
  "1e300",
  "-1e300",
  "1e308",
  "1e400",
  "-1",
  "-0",
  "0.5",
  "9007199254740991",
  "9007199254740993",
  "1000000001",
  "1e-320",
  "NaN",
  "Infinity",
  `"1"`,
  `"NaN"`,
  "null",
  "1".repeat(400)
] as const

/** Those that JSON has. */
const validNumbers = numbers.filter((text) => !/^[NI]/.test(text))

/** The JSON with one or two of its numbers, or all of them, replaced. */
const withNumbers = (random: Random, text: string): string => {
  const places = [...text.matchAll(/(?<=[:[,])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=[,\]}])/g)]
  const share = random.pick([0.1, 0.3, 1])
  const same = random.pick(numbers)
  let made = ""
  let at = 0
  for (const { 0: found, index } of places) {
    made += text.slice(at, index) + (random.chance(share) ? (random.chance(0.5) ? same : random.pick(numbers)) : found)
    at = index + found.length
  }
  return made + text.slice(at)
}

const list = (items: number, item: string): string => `[${Array<string>(items).fill(item).join(",")}]`

/**
 * JSON that costs a parser more than its length, in a field that nobody reads or in place of one.
 */
const withSize = (random: Random, text: string): string => {
  const large = random.pick<() => string>([
    () => "[".repeat(20_000) + "]".repeat(20_000),
    () => `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
    () => list(50_000, "{}"),
    () => list(20_000, '{"index":0,"relevance_score":0.5,"word":"a","start":0,"end":1}'),
    () => `{${Array.from({ length: 5000 }, (_, at) => `"${at}":0`).join(",")}}`,
    () => `"${"a".repeat(random.chance(0.05) ? 5_000_000 : 100_000)}"`
  ])()
  if (random.chance(0.5) && text.startsWith("{")) return `{"more":${large},${text.slice(1)}`
  return text.replace(/\[.*\]/s, () => large)
}

/** A name twice: the last one counts for a parser. */
const withTwins = (random: Random, text: string): string =>
  text.replaceAll(/"(\w+)":/g, (name) =>
    random.chance(0.4) ? `${name}${random.pickOr(validNumbers, "0")},${name}` : name
  )

const statuses = [
  201, 204, 205, 206, 226, 299, 300, 301, 302, 304, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 424, 429, 498,
  499, 500, 502, 503, 504, 524, 529, 599, 600, 700, 999
] as const

const errorBodies = [
  "",
  "null",
  "[]",
  '{"error":null}',
  '{"error":{"message":null,"code":1e400}}',
  '{"error":{"message":"Bearer not-a-real-key is not valid \\u0000\\u202e","code":"a"}}',
  '{"error":{"code":429,"message":"wait","metadata":{"retry_after":1e300}},"service_metadata":{"request_id":"a"},"user_id":null}',
  '{"message":"invalid request: \\ud800"}',
  '{"detail":[{"msg":"a"},{"msg":1}]}',
  "<html>bad gateway</html>",
  `{"error":${'{"error":'.repeat(5000)}1${"}".repeat(5001)}`
] as const

const retries = ["-1", "1e9", "999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "soon", "0", ""] as const

const withStatus = (random: Random, body: Buffer): Parts => {
  const status = random.pick(statuses)
  const said = random.chance(0.5) ? body : Buffer.from(random.pick(errorBodies))
  const { headers } = plain(said, random.chance(0.8) ? jsonType : "text/html")
  return {
    status,
    body: said,
    headers: [
      ...headers,
      ...(random.chance(0.3) ? [["retry-after", random.pick(retries)] as const] : []),
      ...(status < 400 && status >= 300
        ? [["location", random.pick(["/", "http://127.0.0.1:1/", "a b", "//"])] as const]
        : [])
    ]
  }
}

const withHeaders = (random: Random, body: Buffer): Parts => {
  const length = String(body.length)
  const type = ["content-type", jsonType] as const
  const close = ["connection", "close"] as const
  return random.pick<() => Parts>([
    () =>
      plain(
        body,
        random.pick(["text/html", "application/octet-stream", "", "application/json; charset=utf-16", "video/mp4"])
      ),
    () => ({ status: 200, headers: [type, ["content-length", length], ["content-encoding", "gzip"], close], body }),
    () => {
      const packed = gzipSync(body)
      const headers = [type, ["content-length", String(packed.length)], ["content-encoding", "gzip"], close] as const
      return { status: 200, headers, body: packed }
    },
    () => ({ status: 200, headers: [type, ["content-length", String(body.length + 10)], close], body }),
    () => ({ status: 200, headers: [type, ["content-length", String(Math.max(0, body.length - 5))], close], body }),
    () => ({ status: 200, headers: [type, ["content-length", "99999999999"], close], body }),
    () => ({ status: 200, headers: [type, ["content-length", length], ["content-length", "1"], close], body }),
    () => ({ status: 200, headers: [type, ["content-length", "-1"], close], body }),
    () => ({ status: 200, headers: [type, close], body }),
    () => ({ status: 200, headers: [type, ["transfer-encoding", "chunked"], close], body }),
    () => ({
      status: 200,
      headers: [
        type,
        ["x-compute-tokens", random.pick(["-1", "1e300", "999999999", "a"])],
        ["content-length", length],
        close
      ],
      body
    }),
    () => ({ status: 200, headers: [type, ["x-a", "a".repeat(20_000)], ["content-length", length], close], body }),
    () => ({ status: 200, headers: [type, ["x-a", "\u0001\u00ff"], ["content-length", length], close], body }),
    () => ({
      status: 200,
      headers: [["content-type", jsonType], ["content-type", "a/b"], ["content-length", length], close],
      body
    })
  ])()
}

const notUtf8 = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xef, 0xbb, 0xbf])
] as const

const inserted = (random: Random, body: Buffer): Buffer => {
  const at = random.below(body.length + 1)
  return Buffer.concat([body.subarray(0, at), random.pick(notUtf8), body.subarray(at)])
}

/** The answer, usually with something wrong. */
export const mutated = (random: Random, right: Right): Sent => {
  const isJson = "json" in right
  const text = isJson ? JSON.stringify(right.json) : ""
  const body = isJson ? Buffer.from(text) : right.bytes
  const type = isJson ? jsonType : "video/mp4"
  const ofJson = (made: string): Buffer => write(plain(Buffer.from(made), jsonType))
  const how = random.fraction()
  if (how < 0.25) return { kind: "right", bytes: write(plain(body, type)) }
  if (how < 0.7 && isJson) {
    if (how < 0.45) return { kind: "numbers", bytes: ofJson(withNumbers(random, text)) }
    if (how < 0.6) return { kind: "values", bytes: ofJson(mutatedJson(random, right.json)) }
    if (how < 0.64) return { kind: "names twice", bytes: ofJson(withTwins(random, text)) }
    if (how < 0.67) return { kind: "size", bytes: ofJson(withSize(random, text)) }
    return { kind: "not UTF-8", bytes: write(plain(inserted(random, body), type)) }
  }
  if (how < 0.78) return { kind: "bytes", bytes: write(plain(mutatedBytes(random, body), type)) }
  if (how < 0.88) return { kind: "status", bytes: write(withStatus(random, body)) }
  if (how < 0.95) return { kind: "headers", bytes: write(withHeaders(random, body)) }
  if (how < 0.98) {
    const whole = write(plain(body, type))
    return { kind: "cut off", bytes: whole.subarray(0, random.below(whole.length)) }
  }
  return { kind: "not HTTP", bytes: mutatedBytes(random, write(plain(body, type))) }
}
