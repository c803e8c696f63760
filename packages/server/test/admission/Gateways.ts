/** Gateways as processes of their own, and requests to them. */
import { Effect, Option, Schema, Stream } from "effect"
import { Agent, request as httpRequest } from "node:http"
import * as Processes from "../Processes.ts"

const Started = Schema.fromJsonString(Schema.Struct({ port: Schema.Int, key: Schema.optionalKey(Schema.String) }))

/**
 * A gateway process over the folder, until the scope closes. It may kill itself: see the fixture.
 */
export const start = (folder: string, ...death: ReadonlyArray<string>) => startWith({}, folder, death)

/** A gateway process on a Postgres. */
export const startOn = (databaseUrl: string, folder: string) =>
  startWith({ TEST_DATABASE_URL: databaseUrl }, folder, [])

const startWith = Effect.fnUntraced(function* (
  env: Readonly<Record<string, string>>,
  folder: string,
  death: ReadonlyArray<string>
) {
  const child = yield* Processes.start("admission/fixtures/gateway.ts", [folder, ...death], env)
  const line = yield* Stream.runHead(child.stdout.pipe(Stream.decodeText, Stream.splitLines))
  const started = yield* Schema.decodeEffect(Started)(Option.getOrElse(line, () => ""))
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true })),
    (agent) => Effect.sync(() => agent.destroy())
  )
  return { ...started, agent, pid: child.pid, kill: child.kill({ killSignal: "SIGKILL" }) }
})

/** A gateway process. */
export type Gateway = Effect.Success<ReturnType<typeof start>>

/** A whole answer. */
export interface Answer {
  readonly status: number
  readonly replayed: boolean
  readonly body: string
}

/** Asks for the reranking of that name; undefined when no whole answer came. */
export const ask = (to: { readonly port: number; readonly agent: Agent }, key: string, name: string) =>
  Effect.callback<Answer | undefined>((resume) => {
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port: to.port,
        agent: to.agent,
        path: "/api/v1/rerank",
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          "idempotency-key": name
        }
      },
      (response) => {
        let body = ""
        response.on("data", (chunk: Buffer) => (body += chunk.toString()))
        response.on("error", () => resume(Effect.undefined))
        response.on("close", () =>
          resume(
            Effect.succeed(
              response.complete
                ? {
                    status: response.statusCode ?? 0,
                    replayed: response.headers["idempotent-replayed"] === "true",
                    body
                  }
                : undefined
            )
          )
        )
      }
    )
    request.on("error", () => resume(Effect.undefined))
    request.end(JSON.stringify({ model: "sandbox/bm25", query: name, documents: [name, "something else"] }))
  })
