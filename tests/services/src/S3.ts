/**
 * An S3-compatible server for the tests of the object store: OpenStack Swift with its s3api
 * (`s3.py`), from Debian's package python3-swift. It verifies signatures, and has uploads in parts,
 * ranges and conditions.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { forTests, fromDebian } from "./Program.ts"

const python = "/usr/bin/python3"
const middleware = "/usr/lib/python3/dist-packages/swift/common/middleware/s3api/s3api.py"
const script = fileURLToPath(new URL("../s3.py", import.meta.url))

export const program = fromDebian({
  name: "s3",
  title: "S3-compatible server",
  purpose: "the tests of the object store",
  packages: ["python3-swift"],
  megabytes: 50,
  find: () => (existsSync(python) && existsSync(middleware) ? middleware : undefined)
})

/** Whether tests can start the server. Throws in CI if they cannot. */
export const hasS3 = (): boolean => forTests(program) !== undefined

/** The credentials of an account of the server, as the standard variables. */
export interface S3Credentials {
  readonly AWS_ACCESS_KEY_ID: string
  readonly AWS_SECRET_ACCESS_KEY: string
}

/** The credentials of the owner of the bucket. */
export const credentials: S3Credentials = { AWS_ACCESS_KEY_ID: "test:tester", AWS_SECRET_ACCESS_KEY: "testing" }

/** Valid credentials without a right to the bucket. */
export const otherCredentials: S3Credentials = { AWS_ACCESS_KEY_ID: "test:other", AWS_SECRET_ACCESS_KEY: "testing" }

const bucket = "objects"

/** The bucket, and a prefix in it. Default: the bucket of the server, without a prefix. */
export interface S3Place {
  readonly name?: string
  readonly prefix?: string
}

/** The value of OBJECT_STORE_URL for a bucket at this origin. */
export const urlOf = (origin: string, { name = bucket, prefix = "" }: S3Place = {}): string =>
  `s3://${name}/${prefix}?region=us-east-1&endpoint=${encodeURIComponent(origin)}`

/** A running server. */
export interface S3Server {
  readonly origin: string
  /** The value of OBJECT_STORE_URL. */
  readonly url: (place?: S3Place) => string
  /** Ends the process and removes its data. */
  readonly stop: () => Promise<void>
}

/** Starts the server with an empty bucket. It ends with this process. */
export const startS3 = async (): Promise<S3Server> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-s3-"))
  const child = spawn(python, [script, folder, bucket], { stdio: ["pipe", "pipe", "pipe"] })
  const ended = once(child, "close")
  let problem = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (problem = (problem + text).slice(-4000)))
  const port = await Promise.race([
    new Promise<number>((resolve) => child.stdout.once("data", (line: Buffer) => resolve(Number(line.toString())))),
    ended.then(() => undefined)
  ])
  if (port === undefined) throw new Error(`The S3-compatible server did not start:\n${problem}`)
  const origin = `http://127.0.0.1:${port}`
  return {
    origin,
    url: (place) => urlOf(origin, place),
    stop: async () => {
      child.kill("SIGKILL")
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

const slowDown =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>'

/** What the proxy does instead of passing a request on. */
const answers = {
  /** A 503 as S3 sends it. */
  slowDown: (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    request.on("end", () => response.writeHead(503, { "content-type": "application/xml" }).end(slowDown))
  },
  /** Never answers. */
  hang: (request: IncomingMessage) => request.resume(),
  /** Resets the connection before the response. */
  reset: (request: IncomingMessage) => request.socket.resetAndDestroy()
}

/**
 * What happens to a request. `cutBody` ends the connection in the middle of the response, and
 * `hangBody` stops there.
 */
export type S3Fault = keyof typeof answers | "cutBody" | "hangBody"

/** A proxy in front of the server that fails some requests. */
export interface S3Faults {
  readonly origin: string
  readonly url: (place?: S3Place) => string
  /** The method, the path and the first parameter of each request. */
  readonly requests: Array<string>
  /** How many connections are open. */
  readonly connections: () => number
  /** Fails the next `times` requests whose `METHOD /path?query` matches. Default: all. */
  readonly fail: (match: RegExp, fault: S3Fault, times?: number) => void
  readonly heal: () => void
  readonly stop: () => Promise<void>
}

/** Starts the proxy. It passes requests on unchanged, so that their signatures stay valid. */
export const startFaults = async (target: string): Promise<S3Faults> => {
  const { hostname, port: targetPort } = new URL(target)
  const requests: Array<string> = []
  const sockets = new Set<Socket>()
  let rules: Array<{ readonly match: RegExp; readonly fault: S3Fault; times: number }> = []

  const server = createServer((request, response) => {
    const { headers, method = "", url = "" } = request
    requests.push(`${method} ${url.split("&")[0]}`)
    request.on("error", () => {})
    response.on("error", () => {})
    const rule = rules.find((rule) => rule.times > 0 && rule.match.test(`${method} ${url}`))
    if (rule !== undefined) rule.times--
    const fault = rule?.fault
    if (fault !== undefined && fault !== "cutBody" && fault !== "hangBody") {
      answers[fault](request, response)
      return
    }
    const options = { host: hostname, port: targetPort, method, path: url, headers, agent: false }
    const passed = httpRequest(options, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      if (fault === undefined) {
        answer.pipe(response)
        return
      }
      let left = Math.floor(Number(answer.headers["content-length"]) / 2)
      answer.on("data", (chunk: Buffer) => {
        const part = chunk.subarray(0, left)
        left -= part.length
        response.write(part, () => {
          if (left === 0 && fault === "cutBody") request.socket.resetAndDestroy()
        })
      })
    })
    passed.on("error", () => request.socket.destroy())
    response.on("close", () => passed.destroy())
    request.pipe(passed)
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("error", () => {}).on("close", () => sockets.delete(socket))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  return {
    origin,
    url: (place) => urlOf(origin, place),
    requests,
    connections: () => sockets.size,
    fail: (match, fault, times = Number.POSITIVE_INFINITY) => {
      rules.push({ match, fault, times })
    },
    heal: () => {
      rules = []
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
