/** Two workers with a certificate that is replaced under load: no request fails. */
import { executable, start } from "@model-gateway/test-services/GatewayProcess"
import { execFileSync, spawnSync } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { Agent, request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "node:tls"
import { expect, it, onTestFinished } from "vitest"

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

const body = JSON.stringify({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })

it.skipIf(!hasOpenssl)("new connections get a renewed certificate, by SIGHUP and without, under load", async () => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-tls-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string) => join(folder, name)
  const names = ["first", "second", "third"] as const
  for (const name of names) {
    const kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost".split(" ")
    const files = ["-keyout", file(`${name}.key`), "-out", file(`${name}.crt`)]
    const alternative = ["-addext", "subjectAltName=DNS:localhost"]
    execFileSync("openssl", ["req", "-x509", ...kind, ...alternative, ...files], { stdio: "ignore" })
  }
  const ca = names.map((name) => readFileSync(file(`${name}.crt`)))
  /** Puts a certificate and its key where the gateway looks, as programs do that renew them. */
  const use = (name: (typeof names)[number]) => {
    for (const kind of ["key", "crt"]) {
      copyFileSync(file(`${name}.${kind}`), file(`${kind}.new`))
      renameSync(file(`${kind}.new`), file(`tls.${kind}`))
    }
  }
  use("first")
  const tls = ["--tls-cert", file("tls.crt"), "--tls-key", file("tls.key")]
  const args = ["serve", "--workers", "2", "--port", "0", "--data-dir", file("data"), ...tls]
  const gateway = start(process.execPath, [executable, ...args], {
    cwd: folder,
    env: { MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "1000000", MODEL_GATEWAY_INITIAL_CREDITS: "100000" }
  })
  onTestFinished(gateway.stop)
  const [, key = ""] = await gateway.prints(/ordinary key +(mg_sk_\w+)\s/)
  const [, digits = ""] = await gateway.prints(/Model gateway at https:\/\/127\.0\.0\.1:(\d+)\/api\/v1/)
  await gateway.prints(/Requests are served by 2 workers/)
  const port = Number(digits)

  const send = (agent: Agent) =>
    new Promise<string>((resolve) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const to = { host: "127.0.0.1", port, servername: "localhost", ca, agent, path: "/api/v1/rerank" }
      const sent = request({ ...to, method: "POST", headers }, (response) => {
        response.resume()
        response.once("close", () => resolve(response.complete ? String(response.statusCode) : "cut"))
      })
      sent.once("error", ({ message }) => resolve(message))
      sent.end(body)
    })
  const results = new Map<string, number>()
  let isOver = false
  const client = async (agent: Agent) => {
    while (!isOver) {
      const result = await send(agent)
      results.set(result, (results.get(result) ?? 0) + 1)
      await sleep(20)
    }
    agent.destroy()
  }
  // Half of the clients keep their connections, the others open one for each request.
  const clients = Array.from({ length: 8 }, (_, index) =>
    client(new Agent({ keepAlive: index % 2 === 0, maxCachedSessions: 0 }))
  )
  const over = async () => {
    isOver = true
    await Promise.all(clients)
  }
  onTestFinished(over)

  /** The certificate that a new connection gets. */
  const seen = async (): Promise<string> => {
    const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca })
    await once(socket, "secureConnect")
    const { raw } = socket.getPeerCertificate()
    socket.destroy()
    return names.find((_, index) => ca[index]?.toString().includes(raw.toString("base64").slice(0, 60))) ?? "none"
  }
  /** Those of many connections, which the workers get in turn. */
  const allSeen = async () => [...new Set(await Promise.all(Array.from({ length: 12 }, seen)))]
  expect(await allSeen()).toEqual(["first"])

  use("second")
  gateway.signal("SIGHUP")
  // Each worker reads the certificate before the settings.
  await gateway.prints(/(?:The settings were read again[^]*){2}/)
  expect(await allSeen()).toEqual(["second"])
  use("third")
  await expect.poll(allSeen, { timeout: 60_000, interval: 500 }).toEqual(["third"])

  await over()
  expect([...results.keys()]).toEqual(["200"])
  expect(results.get("200")).toBeGreaterThan(100)
  gateway.signal("SIGTERM")
  expect(await gateway.ended).toBe(0)
})
