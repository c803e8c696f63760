/**
 * What doubles of upstreams have in common: a server on a loopback socket that records requests,
 * scripted answers, and the failures of a network.
 */
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"

const write = (response, { body, headers, status = 200 }) => {
  const isRaw = typeof body === "string" || body instanceof Uint8Array
  const type = body instanceof Uint8Array ? "application/octet-stream" : "application/json"
  response
    .writeHead(status, { "content-type": type, ...headers })
    .end(isRaw || body === null ? body : JSON.stringify(body ?? {}))
}

/** Sends bytes as fast as they are read, and counts them. */
const sendEndlessly = (response, sent) => {
  const block = Buffer.alloc(65_536, 0x20)
  response.writeHead(200, { "content-type": "application/json" })
  const more = () => {
    while (!response.destroyed) {
      sent(block.length)
      if (!response.write(block)) return
    }
  }
  response.on("drain", more)
  more()
}

const faults = {
  /** Never answers. */
  hang: () => {},
  /** Closes the connection before the headers of the response. */
  cut: ({ socket }) => socket.destroy(),
  /** Resets the connection before the headers of the response. */
  reset: ({ socket }) => socket.resetAndDestroy(),
  /** Closes the connection in the middle of the body. */
  cutBody: ({ response, scripted, socket }) => {
    const headers = { "content-type": "application/json", "content-length": "1000", ...scripted.headers }
    response.writeHead(scripted.status ?? 200, headers)
    response.write('{"results":[', () => socket.destroy())
  },
  /** Sends the headers, and never the body. */
  hangBody: ({ response, scripted }) => {
    response.writeHead(scripted.status ?? 200, { "content-type": "application/json", ...scripted.headers })
    response.flushHeaders()
  },
  /** Sends a body without an end. */
  endless: ({ response, sent }) => sendEndlessly(response, sent),
  /** Sends something other than HTTP. */
  notHttp: ({ socket }) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")
}

/** Starts a double. `answerTo` gives its own answer to a recorded request. */
export const startDouble = async ({ answerTo, port = 0 }) => {
  const state = { requests: [], connections: 0, bytesSent: 0 }
  let script = []
  let always
  const server = createServer((request, response) => {
    const parts = []
    request.on("data", (part) => parts.push(part))
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("end", () => {
      const bytes = Buffer.concat(parts)
      const { headers, method, socket, url } = request
      const recorded = { method, url, headers, bytes, text: bytes.toString("utf8"), isClosed: () => socket.destroyed }
      state.requests.push(recorded)
      const answer = script.shift() ?? always ?? answerTo(recorded)
      if (answer.fault !== undefined) {
        const sent = (count) => (state.bytesSent += count)
        return faults[answer.fault]({ socket, response, scripted: answer, sent })
      }
      write(response, answer)
    })
  })
  server.on("connection", (socket) => {
    state.connections++
    socket.on("error", () => {})
  })
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve))
  return {
    state,
    url: `http://127.0.0.1:${server.address().port}`,
    next: (...answers) => {
      script = answers
    },
    always: (answer) => {
      always = answer
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** Starts a double by hand if `url` is the module that Node was started with: `<key> [port]`. */
export const startByHand = async (url, start) => {
  if (process.argv[1] !== fileURLToPath(url)) return
  const [, , key = "key", port = "0"] = process.argv
  const double = await start({ keys: [key], port: Number(port) })
  process.stdout.write(`${double.url}\n`)
}
