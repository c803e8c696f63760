import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as CallProcesses from "@model-gateway/offers/CallProcesses"
import { Effect, Exit, FileSystem, Layer, Logger, Option, Scope, Stream } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { ChildProcess } from "effect/process"
import { TestClock } from "effect/testing"
import { fileURLToPath } from "node:url"
import * as LocalObjectStore from "../../src/objects/LocalObjectStore.ts"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import * as ProcessFolder from "../../src/objects/ProcessFolder.ts"
import { temporaryFolder } from "../TestStorage.ts"

const services = Layer.merge(NodeServices.layer, layerWebCrypto)

/** The files below a folder, except locks. */
const filesBelow = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const entries = yield* fs.readDirectory(folder, { recursive: true })
  const found: Array<string> = []
  for (const entry of entries) {
    if (entry.endsWith(`/${ProcessFolder.lockName}`)) continue
    if ((yield* fs.stat(`${folder}/${entry}`)).type === "File") found.push(entry)
  }
  return found
})

/**
 * Another process that has written half of an upload and waits. It is killed with SIGKILL when the
 * scope closes.
 */
const uploading = Effect.fnUntraced(function* (folder: string) {
  const child = yield* ChildProcess.make(
    process.execPath,
    [fileURLToPath(new URL("./fixtures/halfUpload.ts", import.meta.url)), folder],
    { env: { NODE_NO_WARNINGS: "1" }, extendEnv: true }
  )
  const line = yield* Stream.runHead(child.all.pipe(Stream.decodeText, Stream.splitLines))
  expect(Option.getOrNull(line)).toBe("writing")
  return child
})

describe("ProcessFolder", () => {
  it.live(
    "the incomplete upload of a killed process is removed at the next start, and that of a live process stays",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* uploading(folder)
        const killed = yield* uploading(folder)
        expect((yield* filesBelow(folder)).length).toBe(2)
        yield* killed.kill({ killSignal: "SIGKILL" })
        yield* Effect.gen(function* () {
          expect((yield* filesBelow(folder)).length).toBe(1)
          yield* (yield* ObjectStore).put("files/a", Stream.make(new Uint8Array(10)))
          expect((yield* filesBelow(folder)).length).toBe(2)
        }).pipe(Effect.provide(LocalObjectStore.layer(folder)))
      }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live.skipIf(process.platform !== "linux")(
    "kills the programs that a dead process had started for calls in its folder, and no others",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const shared = yield* temporaryFolder
        const start = (folder: string) =>
          ChildProcess.make("sh", ["-c", "sleep 1000 & setsid sleep 1000 & wait"], {
            env: { [CallProcesses.variable]: folder },
            extendEnv: true,
            killSignal: "SIGKILL"
          })
        const own = yield* ProcessFolder.make(shared)
        yield* fs.makeDirectory(`${shared}/dead/call`, { recursive: true })
        const left = yield* start(`${shared}/dead/call`)
        const ofLive = yield* start(`${own}/call`)
        const ofAnother = yield* start(`${shared}/deadly/call`)
        yield* Effect.scoped(ProcessFolder.make(shared))
        yield* Effect.exit(left.exitCode)
        expect([yield* left.isRunning, yield* ofLive.isRunning, yield* ofAnother.isRunning]).toEqual([
          false,
          true,
          true
        ])
        expect(yield* fs.exists(`${shared}/dead`)).toBe(false)
        yield* CallProcesses.killAll(shared)
      }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.effect("removes folders without a lock, and its own folder at the end", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = yield* temporaryFolder
      yield* fs.makeDirectory(`${shared}/folder`)
      yield* fs.writeFileString(`${shared}/folder/half`, "half")
      yield* fs.writeFileString(`${shared}/half`, "half")
      const scope = yield* Scope.make()
      const own = yield* Scope.provide(ProcessFolder.make(shared), scope)
      expect((yield* fs.readDirectory(shared)).map((name) => `${shared}/${name}`)).toEqual([own])
      yield* fs.writeFileString(`${own}/half`, "half")
      yield* Scope.close(scope, Exit.void)
      expect(yield* fs.readDirectory(shared)).toEqual([])
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("removes a folder whose process was killed before it locked it, and creates private ones", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = `${yield* temporaryFolder}/data/shared`
      yield* fs.makeDirectory(`${shared}/new-dead`, { recursive: true })
      yield* fs.makeDirectory(`${shared}/new-live`)
      yield* fs.utimes(`${shared}/new-dead`, 0, 0)
      const own = yield* ProcessFolder.make(shared)
      expect((yield* fs.readDirectory(shared)).map((name) => `${shared}/${name}`).toSorted()).toEqual(
        [own, `${shared}/new-live`].toSorted()
      )
      const other = yield* ProcessFolder.make(`${own}/data/shared`)
      for (const folder of [own, other, `${own}/data`]) expect((yield* fs.stat(folder)).mode & 0o777).toBe(0o700)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.effect("says nothing of a folder that its process renames meanwhile", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = yield* temporaryFolder
      const listing = {
        ...fs,
        readDirectory: (path: string) => Effect.map(fs.readDirectory(path), (names) => [...names, "new-renamed"])
      }
      yield* Effect.provideService(ProcessFolder.make(shared), FileSystem.FileSystem, listing)
      expect(logged).toEqual([])
    }).pipe(
      Effect.scoped,
      Effect.provide([services, Logger.layer([Logger.make(({ message }) => void logged.push(message))])])
    )
  })

  it.effect("gives each running process its own folder, and removes dead ones every 15 seconds", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = yield* temporaryFolder
      const [first, second] = yield* Effect.all([ProcessFolder.make(shared), ProcessFolder.make(shared)])
      yield* fs.writeFileString(`${first}/a`, "a")
      yield* fs.makeDirectory(`${shared}/left`)
      yield* TestClock.adjust("15 seconds")
      yield* Effect.repeat(fs.exists(`${shared}/left`), { until: (exists) => !exists })
      expect(first).not.toBe(second)
      expect(yield* fs.readDirectory(first)).toContain("a")
      expect(yield* fs.exists(second)).toBe(true)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
