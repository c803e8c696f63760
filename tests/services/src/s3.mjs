// Starts an S3-compatible server for the tests of the object store: OpenStack Swift with its s3api
// (tests/services/src/s3.py), from Debian's package python3-swift. It verifies signatures, and has uploads in
// parts, ranges and conditions.
//
//   node tests/services/src/s3.mjs            finds or installs it, prints where it is
//   node tests/services/src/s3.mjs --find     only finds; prints nothing and exits with 1 if it is missing
//
// S3_INSTALL=never forbids the installation. `npm test` calls it before the tests. Without the
// server its tests are skipped, and with CI=true the run fails.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installPackages, isRoot } from "./apt.mjs"

const python = "/usr/bin/python3"
const middleware = "/usr/lib/python3/dist-packages/swift/common/middleware/s3api/s3api.py"
const script = fileURLToPath(new URL("s3.py", import.meta.url))

/** Where the server is, or undefined if it is missing. */
export const findS3 = () => (existsSync(python) && existsSync(middleware) ? middleware : undefined)

/** The same, installed if necessary. */
export const ensureS3 = () => {
  const found = findS3()
  if (found !== undefined || process.env.S3_INSTALL === "never" || !isRoot) return found
  console.log(
    "No S3-compatible server was found for the tests of the object store. Installing as root with apt-get: " +
      "python3-swift (about 50 MB). S3_INSTALL=never forbids it."
  )
  return installPackages("python3-swift") ? findS3() : undefined
}

export const noS3 =
  "No S3-compatible server was found and none was installed, so the object store cannot be tested on one. " +
  "Install it (Debian: apt-get install python3-swift)."

/** Whether tests can start the server. Throws in CI if they cannot. */
export const hasS3 = () => {
  const found = findS3() !== undefined
  if (!found && process.env.CI) throw new Error("no S3-compatible server; `npm test` says why")
  return found
}

/** The credentials of the owner of the bucket. */
export const credentials = { AWS_ACCESS_KEY_ID: "test:tester", AWS_SECRET_ACCESS_KEY: "testing" }

/** Valid credentials without a right to the bucket. */
export const otherCredentials = { AWS_ACCESS_KEY_ID: "test:other", AWS_SECRET_ACCESS_KEY: "testing" }

const bucket = "objects"

/** The value of OBJECT_STORE_URL for a bucket behind this address. */
export const urlOf = (origin, { name = bucket, prefix = "" } = {}) =>
  `s3://${name}/${prefix}?region=us-east-1&endpoint=${encodeURIComponent(origin)}`

/** Starts the server with an empty bucket. It ends with this process. */
export const startS3 = async () => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-s3-"))
  const child = spawn(python, [script, folder, bucket], { stdio: ["pipe", "pipe", "pipe"] })
  const ended = once(child, "close")
  let problem = ""
  child.stderr.setEncoding("utf8").on("data", (text) => (problem = (problem + text).slice(-4000)))
  const [line] = await Promise.race([once(child.stdout, "data"), ended.then(() => [undefined])])
  if (line === undefined) throw new Error(`The S3-compatible server did not start:\n${problem}`)
  const origin = `http://127.0.0.1:${Number(line.toString())}`
  return {
    origin,
    url: (options) => urlOf(origin, options),
    /** Ends the process and removes its data. */
    stop: async () => {
      child.kill("SIGKILL")
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

const slowDown =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>'

const faults = {
  /** A 503 as S3 sends it. */
  slowDown: (request, response) => {
    request.resume()
    request.on("end", () => response.writeHead(503, { "content-type": "application/xml" }).end(slowDown))
  },
  /** Never answers. */
  hang: (request) => request.resume(),
  /** Resets the connection before the response. */
  reset: (request) => request.socket.resetAndDestroy()
}

/**
 * Starts a proxy in front of the server that passes each request on unchanged, so that signatures
 * hold, and fails some: with `slowDown`, `hang`, `reset`, or `cutBody`, which ends the connection
 * in the middle of the response, or `hangBody`, which stops there.
 */
export const startFaults = async (origin) => {
  const target = new URL(origin)
  const requests = []
  const sockets = new Set()
  let rules = []

  const server = createServer((request, response) => {
    const { method, url } = request
    requests.push(`${method} ${url.split("&")[0]}`)
    request.on("error", () => {})
    response.on("error", () => {})
    const rule = rules.find((rule) => rule.times > 0 && rule.match.test(`${method} ${url}`))
    if (rule !== undefined) rule.times--
    const fault = faults[rule?.fault]
    if (fault !== undefined) return fault(request, response)
    const passed = httpRequest(
      { host: target.hostname, port: target.port, method, path: url, headers: request.headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers)
        if (rule === undefined) return answer.pipe(response)
        let left = Math.floor(Number(answer.headers["content-length"]) / 2)
        answer.on("data", (chunk) => {
          const part = chunk.subarray(0, left)
          left -= part.length
          response.write(part, () => {
            if (left === 0 && rule.fault === "cutBody") request.socket.resetAndDestroy()
          })
        })
      }
    )
    passed.on("error", () => request.socket.destroy())
    response.on("close", () => passed.destroy())
    request.pipe(passed)
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("error", () => {}).on("close", () => sockets.delete(socket))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address()
  return {
    origin: `http://127.0.0.1:${port}`,
    url: (options) => urlOf(`http://127.0.0.1:${port}`, options),
    /** The method, the path and the first parameter of each request. */
    requests,
    /** How many connections are open. */
    connections: () => sockets.size,
    /** Fails the next `times` requests that match, such as /^PUT .*partNumber=2/. Default: all. */
    fail: (match, fault, times = Number.POSITIVE_INFINITY) => rules.push({ match, fault, times }),
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = process.argv.includes("--find") ? findS3() : ensureS3()
  if (found !== undefined) console.log(found)
  else {
    if (!process.argv.includes("--find")) console.error(noS3)
    process.exitCode = 1
  }
}
