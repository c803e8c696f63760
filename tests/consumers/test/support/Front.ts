// A proxy before the gateway that treats requests badly: it is busy, slow, silent or elsewhere. The
// path says how and for which runtime: `/busy/bun/api/v1/rerank`. It also receives webhooks over
// TLS, since the gateway sends them only there, and passes them on to the runtimes.
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, request as send, type Server, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { root } from "@model-gateway/test-services/Command"

const fixture = (name: string): string => join(root, "apps/gateway/test/fixtures", name)

/** Makes a gateway trust the receiver's certificate, and allows the receiver's address. */
export const environment = {
  NODE_EXTRA_CA_CERTS: fixture("receiver.crt"),
  MODEL_GATEWAY_OUTBOUND_EXEMPT_HOSTS: "localhost"
}

/** A request of a runtime, which is `POST /api/v1/rerank` of its client `busy`. */
export interface Came {
  readonly runtime: string
  readonly treatment: string
  readonly call: string
  readonly idempotencyKey: string | undefined
  readonly status: number | "closed"
}

/** What a runtime answered to a webhook, and to the same one with another body. */
export interface Delivery {
  readonly runtime: string
  readonly answer: string
  readonly answerToForged: string
}

export interface Front {
  readonly origin: string
  readonly receiver: string
  readonly came: ReadonlyArray<Came>
  readonly deliveries: ReadonlyArray<Delivery>
  /** Requests that followed a redirect to another origin. */
  readonly strayed: ReadonlyArray<string>
  readonly stop: () => void
}

/** Longer than the time limit that the program sets. */
const pauseMillis = 3500

const listen = async (server: Server): Promise<number> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && /^(?:content-type|webhook-)/.test(name) ? [[name, value]] : []
    )
  )

/** `originOf` returns where a runtime listens. */
export const startFront = async (gateway: string, originOf: (runtime: string) => string): Promise<Front> => {
  const came: Array<Came> = []
  const deliveries: Array<Delivery> = []
  const strayed: Array<string> = []
  const served = new Set<string>()
  /** The runtimes that wait for an answer that never comes, and their questions whether they do. */
  const silent = new Set<string>()
  const waiting = new Map<string, ServerResponse>()

  const elsewhere = createServer(({ headers, url }, response) => {
    strayed.push(`${url} ${headers.authorization ?? ""}`)
    response.end()
  })
  const elsewhereOrigin = `http://127.0.0.1:${await listen(elsewhere)}`

  const pass = (request: IncomingMessage, response: ServerResponse, path: string) => {
    const { headers, method } = request
    const upstream = send(gateway + path, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    upstream.once("error", () => response.destroy())
    response.once("close", () => upstream.destroy())
    request.pipe(upstream)
  }

  const treat = (treatment: string, runtime: string, request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "").slice(`/${treatment}/${runtime}`.length)
    switch (treatment) {
      case "plain":
        return pass(request, response, path)
      case "busy": {
        const call = `${runtime} ${path}`
        if (served.has(call)) return pass(request, response, path)
        served.add(call)
        request.resume().once("end", () => {
          const error = { code: 503, message: "The gateway is busy.", metadata: null }
          response
            .writeHead(503, { "content-type": "application/json", "retry-after": "0" })
            .end(JSON.stringify({ error }))
        })
        return
      }
      case "slow":
        // Nothing is read in the meantime.
        setTimeout(() => pass(request, response, path), pauseMillis)
        return
      case "moved":
        request.resume().once("end", () => response.writeHead(307, { location: elsewhereOrigin + path }).end())
        return
      case "silent":
        request.resume()
        silent.add(runtime)
        return waiting.get(runtime)?.writeHead(204).end()
      case "arrived":
        if (silent.has(runtime)) response.writeHead(204).end()
        else waiting.set(runtime, response)
    }
  }

  const server = createServer((request, response) => {
    const { headers, method, url = "" } = request
    const [, treatment = "", runtime = "", ...rest] = url.split("/")
    const key = headers["idempotency-key"]
    response.once("close", () =>
      came.push({
        runtime,
        treatment,
        call: `${method} /${rest.join("/")}`,
        idempotencyKey: typeof key === "string" ? key : undefined,
        status: response.writableEnded ? response.statusCode : "closed"
      })
    )
    treat(treatment, runtime, request, response)
  })

  const deliver = async (request: IncomingMessage, response: ServerResponse) => {
    const runtime = (request.url ?? "").slice(1)
    const headers = headersOf(request)
    const body = await buffer(request)
    const post = async (content: string) => {
      const answer = await fetch(`${originOf(runtime)}/webhook`, { method: "POST", headers, body: content })
      return { status: answer.status, text: `${answer.status} ${await answer.text()}` }
    }
    const answer = await post(body.toString())
    const forged = await post(body.toString().replace("video.completed", "video.cancelled"))
    deliveries.push({ runtime, answer: answer.text, answerToForged: forged.text })
    response.writeHead(answer.status).end()
  }

  const certificate = { cert: readFileSync(fixture("receiver.crt")), key: readFileSync(fixture("receiver.key")) }
  const receiver = createTlsServer(certificate, (request, response) => {
    deliver(request, response).catch(() => response.writeHead(500).end())
  })

  const servers = [server, elsewhere, receiver]
  return {
    origin: `http://127.0.0.1:${await listen(server)}`,
    receiver: `https://localhost:${await listen(receiver)}`,
    came,
    deliveries,
    strayed,
    stop: () => {
      for (const each of servers) {
        each.close()
        each.closeAllConnections()
      }
    }
  }
}
