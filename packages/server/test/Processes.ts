/**
 * Runs fixtures as separate processes, so that tests can observe several processes on one
 * database.
 */
import { Effect, Option, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { NodeServices } from "@effect/platform-node"
import { fileURLToPath } from "node:url"

/** Starts a fixture, whose path is below this folder. The process ends when the scope closes. */
export const start = (fixture: string, args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) =>
  ChildProcess.make(process.execPath, [fileURLToPath(new URL(fixture, import.meta.url)), ...args], {
    env: { NODE_NO_WARNINGS: "1", ...env },
    extendEnv: true
  })

/** Runs it to its end and returns its output. A non-zero exit code fails the test. */
export const run = (fixture: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* start(fixture, args)
      const [out, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(child.all)), child.exitCode], {
        concurrency: 2
      })
      if (code !== 0) return yield* Effect.die(new Error(`${fixture} ended with ${code}: ${out}`))
      return out.trim()
    })
  ).pipe(Effect.provide(NodeServices.layer))

/**
 * Runs it until it has printed a line, then kills it with SIGKILL, and returns that line.
 */
export const runAndKill = (fixture: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* start(fixture, args)
      const line = yield* Stream.runHead(child.all.pipe(Stream.decodeText, Stream.splitLines))
      yield* child.kill({ killSignal: "SIGKILL" })
      return Option.getOrElse(line, () => "nothing")
    })
  ).pipe(Effect.provide(NodeServices.layer))

/**
 * Another process holds the write lock of the database while `use` runs. `release` ends that
 * earlier.
 */
export const whileLocked = <A, E, R>(
  filename: string,
  use: (release: Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const child = yield* start("storage/sql/fixtures/holdLock.ts", [filename])
    const line = yield* Stream.runHead(child.all.pipe(Stream.decodeText, Stream.splitLines))
    if (Option.getOrNull(line) !== "locked") return yield* Effect.die(new Error("the database could not be locked"))
    return yield* use(Effect.orDie(child.kill({ killSignal: "SIGKILL" })))
  }).pipe(Effect.catchTag("PlatformError", Effect.die), Effect.scoped, Effect.provide(NodeServices.layer))
