/**
 * Several executables over the same stores and upstreams, and a client that calls all of them, as a
 * load balancer does: a request whose process dies is repeated at the next one.
 */
import { Schema } from "effect"
import { Agent, request as httpRequest } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { onTestFinished } from "vitest"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import type { Double } from "@model-gateway/test-doubles/Double"
import type { JobDouble } from "@model-gateway/test-doubles/JobDouble"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { type Ended, folder, run, serve, type Served } from "./Executable.ts"

/** Credits of one rerank at the double. */
export const rerankPrice = 0.002

/** Credits of one video of two seconds at the double. */
export const videoPrice = 0.24

const secret = "upstream-secret"

/** Doubles of Cohere and Runway, and the environment that makes a gateway call them. */
export interface Upstreams {
  readonly rerank: Double
  readonly video: JobDouble
  readonly environment: Readonly<Record<string, string>>
}

/** Starts the doubles. They end with the test. */
export const startUpstreams = async (): Promise<Upstreams> => {
  const [rerank, video] = await Promise.all([
    startCohereDouble({ keys: [secret] }),
    startRunwayDouble({ keys: [secret], polls: 1 })
  ])
  onTestFinished(() => Promise.all([rerank.close(), video.close()]).then(() => undefined))
  return {
    rerank,
    video,
    environment: {
      COHERE_API_KEY: secret,
      COHERE_BASE_URL: rerank.url,
      RUNWAYML_API_SECRET: secret,
      RUNWAYML_BASE_URL: video.url
    }
  }
}

/** Processes over the same stores. */
export interface Fleet {
  readonly gateways: ReadonlyArray<Served>
  readonly apiKey: string
  readonly managementKey: string
  readonly workspace: string
  /** Ends a process with SIGKILL and starts it again on its port. */
  readonly restart: (index: number) => Promise<void>
  /** Runs an administration command on their database. */
  readonly command: (...args: ReadonlyArray<string>) => Promise<Ended>
}

export interface FleetOptions {
  readonly processes: number
  readonly environment: Readonly<Record<string, string>>
  readonly args?: ReadonlyArray<string>
  /** The data folder of each process. Default: one folder for all. */
  readonly dataDirs?: ReadonlyArray<string>
  /** Options of node for each process. */
  readonly nodeOptions?: ReadonlyArray<string>
}

/** Starts the processes, one after the other: the first one creates the keys. */
export const startFleet = async ({
  args = [],
  dataDirs,
  environment,
  nodeOptions,
  processes
}: FleetOptions): Promise<Fleet> => {
  const shared = dataDirs === undefined ? folder() : undefined
  const launch = (index: number, port: number) =>
    serve(dataDirs?.[index] ?? shared ?? folder(), ["--initial-credits", "100000", ...args], environment, {
      port,
      ...(nodeOptions === undefined ? {} : { nodeOptions })
    })
  const gateways: Array<Served> = []
  for (let index = 0; index < processes; index++) gateways.push(await launch(index, 0))
  const [first] = gateways
  const [, apiKey = ""] = (await first?.prints(/ordinary key +(mg_sk_\w{38})/)) ?? []
  const [, managementKey = ""] = (await first?.prints(/management key +(mg_mk_\w{38})/)) ?? []
  const [, workspace = ""] = (await first?.prints(/^ *workspace {2,}(\S+)$/m)) ?? []
  return {
    gateways,
    workspace,
    apiKey,
    managementKey,
    command: (...args) => run([...args, "--data-dir", dataDirs?.[0] ?? shared ?? folder()], environment),
    restart: async (index) => {
      const gateway = gateways[index]
      if (gateway === undefined) throw new RangeError(`There is no process ${index}`)
      gateway.signal("SIGKILL")
      await gateway.ended
      gateways[index] = await launch(index, gateway.port)
    }
  }
}

/** A response. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 })

/** Sends one request. Undefined if no whole response came back. */
export const send = (
  gateway: Served,
  path: string,
  {
    body,
    headers = {},
    key,
    method = body === undefined ? "GET" : "POST"
  }: {
    readonly key?: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
  }
): Promise<Answer | undefined> =>
  new Promise((resolve) => {
    const request = httpRequest(
      `${gateway.origin}${path}`,
      {
        agent,
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        }
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        response.on("error", () => resolve(undefined))
        response.on("close", () =>
          resolve(
            response.complete ? { status: response.statusCode ?? 0, headers: response.headers, body: text } : undefined
          )
        )
      }
    )
    request.on("error", () => resolve(undefined))
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** Statuses after which a client repeats a request with the same `Idempotency-Key`. */
const repeated = new Set([409, 429, 500, 502, 503, 504, 524, 529])

/**
 * Sends a request under an `Idempotency-Key` until it is answered, to one process after the other.
 */
export const sendUntilAnswered = async (
  { apiKey, gateways }: Fleet,
  path: string,
  idempotencyKey: string,
  body: unknown,
  first: number
): Promise<Answer> => {
  for (let attempt = 0; ; attempt++) {
    const gateway = gateways[(first + attempt) % gateways.length]
    if (gateway === undefined) throw new RangeError("There is no process")
    const answer = await send(gateway, path, { key: apiKey, body, headers: { "idempotency-key": idempotencyKey } })
    if (answer !== undefined && !repeated.has(answer.status)) return answer
    if (attempt > 600) throw new Error(`${path} under ${idempotencyKey} is not answered: ${answer?.body ?? "nothing"}`)
    await sleep(100)
  }
}

/** Runs `total` tasks, `concurrency` at a time, in order of their start. */
export const inParallel = async (total: number, concurrency: number, task: (index: number) => Promise<void>) => {
  let next = 0
  const worker = async () => {
    while (next < total) await task(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Decodes the JSON of a response. */
export const decode =
  <A>(schema: Schema.ConstraintCodec<A, unknown>) =>
  ({ body }: Answer): A =>
    Schema.decodeUnknownSync(schema)(JSON.parse(body))
