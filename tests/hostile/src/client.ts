/**
 * Two ways to send a request: as HTTP through Node's client, and as bytes on a socket, for what no
 * client would send.
 */
import { Agent, request } from "node:http"
import { connect } from "node:net"

/** A response, or why there was none. */
export interface Answer {
  /** 0: no response. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Buffer
  /** From the first byte sent to the last byte received. */
  readonly milliseconds: number
  /** Why there was no response: Node's error code, or `TIMEOUT`. */
  readonly failure: string | undefined
}

export interface Question {
  readonly method: string
  readonly path: string
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object | undefined
  /** Time limit in milliseconds. Default: 60 seconds. */
  readonly patience?: number | undefined
}

const agents = new Map<string, Agent>()
const agentOf = (origin: string): Agent => {
  const agent = agents.get(origin) ?? new Agent({ keepAlive: true, maxFreeSockets: 64 })
  agents.set(origin, agent)
  return agent
}

const none = Buffer.alloc(0)

/** Sends a request. Never fails. */
export const ask = (origin: string, question: Question, agent: Agent | false = agentOf(origin)): Promise<Answer> =>
  new Promise((resolve) => {
    const { body } = question
    const isJson = typeof body === "object" && !(body instanceof Uint8Array)
    const bytes =
      body === undefined ? undefined : body instanceof Uint8Array ? body : isJson ? JSON.stringify(body) : body
    const startedAt = performance.now()
    const since = () => performance.now() - startedAt
    const failed = (failure: string) => resolve({ status: 0, headers: {}, body: none, milliseconds: since(), failure })
    const { hostname, port } = new URL(origin)
    // The path is sent unchanged; `URL` would normalize it.
    const sent = request(
      {
        agent,
        hostname,
        port,
        path: question.path,
        method: question.method,
        headers: {
          ...(question.key === undefined ? undefined : { authorization: `Bearer ${question.key}` }),
          ...(isJson ? { "content-type": "application/json" } : undefined),
          ...(bytes === undefined ? undefined : { "content-length": String(Buffer.byteLength(bytes)) }),
          ...question.headers
        }
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        // A truncated response is kept as far as it arrived, because the status matters.
        response.once("close", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
            milliseconds: since(),
            failure: response.complete ? undefined : "CUT"
          })
        )
        response.once("error", () => {})
      }
    )
    const timer = setTimeout(() => {
      failed("TIMEOUT")
      sent.destroy()
    }, question.patience ?? 60_000)
    sent.once("close", () => clearTimeout(timer))
    sent.on("error", (error: NodeJS.ErrnoException) => {
      // The gateway may close an idle connection while a request is on its way (RFC 9110, 9.2.2).
      const isRepeatable = sent.reusedSocket && error.code === "ECONNRESET" && (question.method ?? "GET") === "GET"
      if (isRepeatable) resolve(ask(origin, question, false))
      else failed(error.code ?? error.message)
    })
    sent.end(bytes)
  })

/** The JSON of a response, or undefined if it is not JSON. */
export const jsonOf = (answer: Answer): unknown => {
  try {
    return JSON.parse(answer.body.toString())
  } catch {
    return undefined
  }
}

/** A field of JSON, by its path. */
export const fieldOf = (json: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? Object.getOwnPropertyDescriptor(value, name)?.value
        : undefined,
    json
  )

/** The fields of a JSON object, or none if it is not an object. */
export const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  typeof value === "object" && value !== null ? Object.entries(value) : []

/** The data received over a socket. */
export interface Received {
  readonly bytes: Buffer
  /** The statuses of all responses, in order. */
  readonly statuses: ReadonlyArray<number>
  readonly milliseconds: number
  /**
   * How the connection ended: closed or reset by the gateway, or still open after the time limit.
   */
  readonly end: "end" | "reset" | "open"
}

/** Data to send, or a pause in milliseconds. */
export type Part = Uint8Array | string | number

const statusLines = /HTTP\/1\.[01] (\d{3}) /g

/** Sends bytes and collects the response until the connection ends or the time is over. */
export const converse = (
  port: number,
  parts: ReadonlyArray<Part>,
  options: { readonly patience: number; readonly halfClose?: boolean; readonly enough?: (received: string) => boolean }
): Promise<Received> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    const startedAt = performance.now()
    const chunks: Array<Buffer> = []
    const finish = (end: Received["end"]): void => {
      clearTimeout(timer)
      socket.destroy()
      const bytes = Buffer.concat(chunks)
      const statuses = Array.from(bytes.toString("latin1").matchAll(statusLines), (match) => Number(match[1]))
      resolve({ bytes, statuses, milliseconds: performance.now() - startedAt, end })
    }
    const timer = setTimeout(() => finish("open"), options.patience)
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      if (options.enough?.(Buffer.concat(chunks).toString("latin1")) === true) finish("open")
    })
    socket.once("end", () => finish("end"))
    socket.once("error", () => finish("reset"))
    const send = async (): Promise<void> => {
      for (const part of parts) {
        if (typeof part === "number") await new Promise((resume) => setTimeout(resume, part))
        else if (socket.writable) socket.write(part)
      }
      if (options.halfClose === true) socket.end()
    }
    void send()
  })

/** The bytes of a request. */
export const requestBytes = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = ""
): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        `${method} ${path} HTTP/1.1`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        "",
        ""
      ].join("\r\n"),
      "latin1"
    ),
    Buffer.from(body)
  ])
