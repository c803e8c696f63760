import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { once } from "node:events"
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { connect as connectTcp } from "node:net"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { fileURLToPath } from "node:url"
import { describe, expect, onTestFinished } from "vitest"
import * as Connections from "../src/Connections.ts"
import * as Tls from "../src/Tls.ts"
import { folder, start } from "./Executable.ts"
import { listen } from "./Listen.ts"

const fixtures = fileURLToPath(new URL("fixtures/", import.meta.url))

type Name = "receiver" | "renewed" | "expired"

const pairOf = (name: Name): Tls.Pair => ({
  cert: readFileSync(join(fixtures, `${name}.crt`), "utf8"),
  key: readFileSync(join(fixtures, `${name}.key`), "utf8")
})

/** A copy of a pair in a folder of its own. */
const filesOf = (name: Name): Tls.Files => {
  const dir = folder()
  const files = { cert: join(dir, "tls.crt"), key: join(dir, "tls.key") }
  write(files, pairOf(name))
  return files
}

const write = (files: Tls.Files, { cert, key }: Tls.Pair): void => {
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
}

/** A connection that trusts these certificates and no others. */
const open = async (port: number, ...trusted: ReadonlyArray<Name>): Promise<TLSSocket> => {
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: trusted.map((name) => pairOf(name).cert)
  })
  onTestFinished(() => void socket.destroy())
  await once(socket, "secureConnect")
  return socket
}

const nextText = (socket: TLSSocket): Promise<string> =>
  new Promise((resolve) => socket.setEncoding("utf8").once("data", (text: string) => resolve(text)))

const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

const ask = async (socket: TLSSocket): Promise<string> => {
  socket.write(get)
  return nextText(socket)
}

const connections = (): Connections.Connections => {
  const made = Connections.make({
    bodyRate: { bytesPerSecond: 1024, grace: 30_000 },
    certificate: pairOf("receiver")
  })
  made.server.on("request", (_, response) => void response.end("served"))
  made.begin()
  return made
}

describe("a server with a certificate", () => {
  it("gives new connections the new certificate, and serves open ones on", async () => {
    const { server, setCertificate } = connections()
    const port = await listen(server)
    const before = await open(port, "receiver")
    assert.include(await ask(before), "served")
    setCertificate(pairOf("renewed"))
    assert.include(await ask(await open(port, "renewed")), "served")
    await expect(open(port, "receiver")).rejects.toThrow(/self-signed/)
    assert.include(await ask(before), "served")
  })

  it("closes connections that ask for nothing when it stops, also before their handshake", async () => {
    const { closed, drain, server, stopListening } = connections()
    const port = await listen(server)
    await open(port, "receiver")
    const silent = connectTcp(port, "127.0.0.1")
    onTestFinished(() => void silent.destroy())
    await once(silent, "connect")
    await stopListening()
    await Promise.all([drain(20_000), closed()])
    assert.isFalse(server.listening)
  })

  it("survives clients that do not speak TLS", async () => {
    const { server } = connections()
    const port = await listen(server)
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed")
    assert.include(await ask(await open(port, "receiver")), "served")
  })
})

/** What is logged. */
const logging = () => {
  const lines: Array<string> = []
  const layer = Logger.layer([Logger.make(({ message }) => void lines.push([message].flat().join(" ")))])
  return { lines, layer }
}

const reloaderOf = (files: Tls.Files) =>
  Effect.gen(function* () {
    const applied: Array<Tls.Pair> = []
    const reloader = Tls.makeReloader(files, yield* Tls.read(files), (pair) => void applied.push(pair))
    return { applied, ...reloader }
  })

/** The fixtures are from 2026. */
const now = TestClock.setTime(Date.parse("2026-12-01T00:00:00Z"))

describe("the files of a certificate", () => {
  it.effect("are used when both have changed", () =>
    Effect.gen(function* () {
      yield* now
      const files = filesOf("receiver")
      const { applied, watch } = yield* reloaderOf(files)
      const fiber = yield* Effect.forkChild(watch)
      const next = pairOf("renewed")
      yield* TestClock.adjust("1 minute")
      writeFileSync(files.cert, next.cert)
      yield* look()
      assert.deepStrictEqual(applied, [])
      writeFileSync(files.key, next.key)
      yield* Effect.repeat(look(), { until: () => applied.length > 0 })
      assert.deepStrictEqual(
        applied.map(({ cert }) => cert),
        [next.cert]
      )
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("are found by a link that changes, as in a volume of Kubernetes", () =>
    Effect.gen(function* () {
      yield* now
      const [old, next] = [filesOf("receiver"), filesOf("renewed")]
      const dir = folder()
      const files = { cert: join(dir, "tls.crt"), key: join(dir, "tls.key") }
      const point = (to: Tls.Files) => {
        for (const part of ["cert", "key"] as const) {
          rmSync(files[part], { force: true })
          symlinkSync(to[part], files[part])
        }
      }
      point(old)
      const { applied, reload } = yield* reloaderOf(files)
      point(next)
      yield* reload
      assert.strictEqual(applied.length, 1)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("keep the old certificate when the new one cannot be used, and the log says why, once", () =>
    Effect.gen(function* () {
      yield* now
      const { layer, lines } = logging()
      const files = filesOf("receiver")
      const { applied, watch } = yield* reloaderOf(files)
      const fiber = yield* Effect.forkChild(Effect.provide(watch, layer))
      const kept = "The gateway keeps the certificate that it has."
      for (const [change, why] of [
        [
          { cert: pairOf("renewed").cert, key: pairOf("receiver").key },
          `The key in ${files.key} does not belong to the first certificate in ${files.cert}.`
        ],
        [
          { ...pairOf("renewed"), cert: "x" },
          `${files.cert} is not a certificate in PEM format (-----BEGIN CERTIFICATE-----).`
        ],
        [pairOf("expired"), `The certificate in ${files.cert} expired at 2026-11-25T`]
      ] as const) {
        lines.length = 0
        write(files, change)
        for (let i = 0; i < 4; i++) yield* look()
        assert.strictEqual(lines.length, 1)
        assert.isTrue(lines[0]?.startsWith(why), lines[0])
        assert.isTrue(lines[0]?.endsWith(kept), lines[0])
      }
      rmSync(files.cert)
      lines.length = 0
      for (let i = 0; i < 3; i++) yield* look()
      assert.deepStrictEqual(lines, [`The certificate ${files.cert} cannot be read (ENOENT). ${kept}`])
      assert.deepStrictEqual(applied, [])
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("are warned of once a day when they expire soon", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-24T20:00:00Z"))
      const { layer, lines } = logging()
      const files = filesOf("expired")
      const { watch } = yield* reloaderOf(files)
      const fiber = yield* Effect.forkChild(Effect.provide(watch, layer))
      yield* TestClock.adjust("2 hours")
      assert.match(lines.join("\n"), /^The certificate in \S+ expires at 2026-11-25T\S+Z\. Replace the file/)
      yield* TestClock.adjust("1 day")
      assert.match(lines[1] ?? "", /^The certificate in \S+ expired at 2026-11-25T/)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("are refused at the start with what is wrong, and nothing of the key", () =>
    Effect.gen(function* () {
      const files = filesOf("receiver")
      writeFileSync(files.key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2VjcmV0\n-----END ENCRYPTED PRIVATE KEY-----\n")
      const exit = yield* Effect.exit(Tls.read(files))
      assert.isTrue(Exit.isFailure(exit))
      const message = Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : ""
      assert.include(message, `${files.key} is not a private key in PEM format without a passphrase`)
      assert.notInclude(message, "c2VjcmV0")
    })
  )
})

/** Reads of files are real, so the clock waits for them. */
const look = () =>
  Effect.andThen(
    TestClock.adjust("10 seconds"),
    Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))
  )

describe("serve", () => {
  it("speaks HTTPS below its base path with a certificate", async () => {
    const files = filesOf("receiver")
    const tls = ["--tls-cert", files.cert, "--tls-key", files.key]
    const gateway = start(["serve", "--port", "0", "--data-dir", folder(), "--base-path", "/gateway", ...tls])
    const [, port = ""] = await gateway.prints(/Model gateway at https:\/\/127\.0\.0\.1:(\d+)\/gateway\/api\/v1 /)
    const socket = await open(Number(port), "receiver")
    socket.write("GET /gateway/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert.match(await nextText(socket), /^HTTP\/1\.1 200 OK/)
    gateway.signal("SIGTERM")
    assert.strictEqual((await gateway.ended).code, 0)
  })
})
