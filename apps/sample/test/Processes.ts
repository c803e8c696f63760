/** Starts the sample and a scripted gateway on a port, for tests of the executable. */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createServer, type Server } from "node:http"
import { fileURLToPath } from "node:url"
import * as Fake from "./FakeGateway.ts"

/** The built sample. */
export const sample = fileURLToPath(new URL("../dist/main.js", import.meta.url))

/** A running process. */
export interface Started {
  /** The output so far, from stdout and stderr. */
  readonly output: () => string
  /** Waits for the exit code. */
  readonly exit: Effect.Effect<number | null>
  /** Waits until the output matches or the process has ended. */
  readonly said: (pattern: RegExp) => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
}

/**
 * Starts a script with this Node. Closing the scope kills it. It does not inherit the environment
 * of this process.
 */
export const start = (
  script: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn(process.execPath, [script, ...args], {
          cwd: options.cwd,
          env: { PATH: process.env.PATH, ...options.env },
          stdio: ["ignore", "pipe", "pipe"]
        })
        return { child, ended: new Promise<number | null>((resolve) => child.once("close", resolve)) }
      }),
      ({ child, ended }) =>
        Effect.promise(() => {
          child.kill("SIGKILL")
          return ended
        })
    ),
    ({ child, ended }) => started(child, ended)
  )

const started = (child: ChildProcess, ended: Promise<number | null>): Started => {
  let output = ""
  const waiting = new Set<() => void>()
  const onData = (chunk: Buffer) => {
    output += chunk.toString()
    for (const look of waiting) look()
  }
  child.stdout?.on("data", onData)
  child.stderr?.on("data", onData)
  return {
    output: () => output,
    exit: Effect.promise(() => ended),
    said: (pattern) =>
      Effect.callback<void>((resume) => {
        const look = () => {
          if (!pattern.test(output)) return
          waiting.delete(look)
          resume(Effect.void)
        }
        waiting.add(look)
        look()
        void ended.then(() => resume(Effect.void))
      }),
    signal: (signal) => Effect.sync(() => void child.kill(signal))
  }
}

/** Starts a scripted gateway on a free port and records its calls. */
export const listen = (script: Fake.Script) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly server: Server; readonly baseUrl: string; readonly calls: Array<string> }>((resume) => {
      const next = Fake.play(script)
      const calls: Array<string> = []
      const server = createServer((request, response) => {
        const path = new URL(request.url ?? "/", "http://gateway.test").pathname
        const call = `${request.method} ${path.replace("/api/v1", "")}`
        request.resume().once("end", () => {
          calls.push(`${call} ${request.headers.authorization}`)
          const answer = next(call)
          if (answer === "never") return
          if (answer === "refused") return void request.destroy()
          response.writeHead(answer.status)
          response.end(answer.body instanceof Uint8Array ? answer.body : JSON.stringify(answer.body))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, baseUrl: `http://127.0.0.1:${port}/api/v1`, calls }))
      })
    }),
    ({ server }) =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
