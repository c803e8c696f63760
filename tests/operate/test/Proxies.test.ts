// The gateway behind nginx and Caddy, with the files that operators copy from deploy/proxies.
import { freePort } from "@model-gateway/test-services/FreePort"
import { type Gateway, startGateway, start } from "@model-gateway/test-services/GatewayProcess"
import { caddyProgram, nginxProgram } from "@model-gateway/test-services/Proxies"
import { execFileSync } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { connect as connectHttp2 } from "node:http2"
import { request as httpsRequest } from "node:https"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"

const folder = mkdtempSync(join(tmpdir(), "proxies-"))
const certificate = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") }

/** A file of deploy/proxies with other values. Each of them must be in it. */
const configured = (file: string, changes: ReadonlyArray<readonly [from: string, to: string]>): string =>
  changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(fileURLToPath(new URL(`../../../deploy/proxies/${file}`, import.meta.url)), "utf8")
  )

const mebibyte = 1024 * 1024

/** Longer than nginx waits by default. */
const slowResponse = 65_000

/** Cohere's API. A query says how it answers; `aborted` are the queries whose caller went away. */
const asked = new Set<string>()
const aborted = new Set<string>()
const upstream = createServer((request, response) => {
  let body = ""
  request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk))
  request.on("end", () => {
    const [, query = ""] = /"query":"([^"]*)"/.exec(body) ?? []
    asked.add(query)
    response.once("close", () => {
      if (!response.writableFinished) aborted.add(query)
    })
    const answer = () =>
      response.setHeader("content-type", "application/json").end(
        JSON.stringify({
          id: "1",
          results: [{ index: 0, relevance_score: 0.5 }],
          meta: { billed_units: { search_units: 1 } }
        })
      )
    if (query.startsWith("slow")) setTimeout(answer, slowResponse)
  })
})

interface Proxy {
  readonly port: number
  readonly stop: () => Promise<void>
}

/** Waits until something listens there. */
const listening = async (port: number): Promise<void> => {
  for (let i = 0; i < 200; i++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false))
      socket.once("connect", () => socket.destroy())
    })
    if (isOpen) return
    await sleep(100)
  }
  throw new Error(`nothing listens on port ${port}`)
}

const startNginx = async (program: string, gatewayPort: number): Promise<Proxy> => {
  const [port, plain] = [await freePort(), await freePort()]
  const dir = join(folder, "nginx")
  mkdirSync(dir)
  const site = configured("nginx.conf", [
    ["gateway.example.pem", "gateway.example.crt"],
    ["/etc/ssl/gateway.example.crt", certificate.cert],
    ["/etc/ssl/gateway.example.key", certificate.key],
    ["server_name gateway.example", "server_name localhost"],
    ["127.0.0.1:8787", `127.0.0.1:${gatewayPort}`],
    ["listen 80;", `listen 127.0.0.1:${plain};`],
    ["listen [::]:80;", ""],
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    ["listen [::]:443 ssl http2;", ""]
  ])
  writeFileSync(join(dir, "site.conf"), site)
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${dir}/${name};`
  )
  writeFileSync(
    join(dir, "nginx.conf"),
    [
      // Root's nginx would run its workers as a user who cannot write here.
      ...(process.getuid?.() === 0 ? ["user root;"] : []),
      `daemon off; master_process off; pid ${dir}/pid; error_log stderr warn;`,
      "events { worker_connections 256; }",
      `http { access_log off; ${temporary.join(" ")} include ${dir}/site.conf; }`
    ].join("\n")
  )
  const running = start(program, ["-p", dir, "-c", join(dir, "nginx.conf")], { cwd: dir })
  await listening(port)
  return { port, stop: running.stop }
}

const startCaddy = async (program: string, gatewayPort: number): Promise<Proxy> => {
  const [port, plain] = [await freePort(), await freePort()]
  const dir = join(folder, "caddy")
  mkdirSync(dir)
  const site = configured("Caddyfile", [
    // The certificate of the test in place of an automatic one.
    ["gateway.example {", `localhost:${port} {\n\ttls ${certificate.cert} ${certificate.key}`],
    ["127.0.0.1:8787 {", `127.0.0.1:${gatewayPort} {`]
  ])
  writeFileSync(join(dir, "Caddyfile"), `{\n\tadmin off\n\thttp_port ${plain}\n\thttps_port ${port}\n}\n${site}`)
  const running = start(program, ["run", "--config", join(dir, "Caddyfile"), "--adapter", "caddyfile"], {
    cwd: dir,
    env: { HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  })
  await listening(port)
  return { port, stop: running.stop }
}

interface Ask {
  readonly method?: string
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** The address of the client. */
  readonly from?: string
  readonly signal?: AbortSignal
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly milliseconds: number
}

describe.each([
  ["nginx", nginxProgram, startNginx, ["127.0.0.2", "127.0.0.3"]],
  ["Caddy", caddyProgram, startCaddy, ["127.0.0.4", "127.0.0.5"]]
] as const)("behind %s", (name, find, startProxy, [guesser, other]) => {
  const program = find()
  let gateway: Gateway | undefined
  let proxy: Proxy = { port: 0, stop: async () => {} }

  beforeAll(async () => {
    if (program === undefined) return
    const kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(" ")
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    const files = ["-keyout", certificate.key, "-out", certificate.cert]
    execFileSync("openssl", ["req", "-x509", ...kind, ...names, ...files], { stdio: "ignore" })
    const upstreamPort = await new Promise<number>((resolve) =>
      upstream.listen(0, "127.0.0.1", () => {
        const address = upstream.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    )
    const dataDir = join(folder, `data-${name}`)
    mkdirSync(dataDir)
    gateway = await startGateway(dataDir, {
      COHERE_API_KEY: "test",
      COHERE_BASE_URL: `http://127.0.0.1:${upstreamPort}`,
      MODEL_GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
      MODEL_GATEWAY_DEADLINE_RERANK: "3 minutes",
      MODEL_GATEWAY_DEADLINE_RERANK_ATTEMPT: "2 minutes",
      MODEL_GATEWAY_FAILED_AUTHENTICATIONS_REQUESTS: "2",
      MODEL_GATEWAY_MCP: "on"
    })
    proxy = await startProxy(program, Number(new URL(gateway.origin).port))
  })

  afterAll(async () => {
    await proxy.stop()
    await gateway?.stop()
    upstream.closeAllConnections()
    if (upstream.listening) await new Promise((resolve) => void upstream.close(resolve))
  })

  const ask = (path: string, { body, from, headers, key = gateway?.key, method = "GET", signal }: Ask = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const startedAt = performance.now()
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          servername: "localhost",
          port: proxy.port,
          path,
          method,
          agent: false,
          ca: readFileSync(certificate.cert),
          headers: { host: `localhost:${proxy.port}`, authorization: `Bearer ${key ?? ""}`, ...headers },
          ...(from === undefined ? {} : { localAddress: from }),
          ...(signal === undefined ? {} : { signal })
        },
        (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("error", reject)
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes: Buffer.concat(chunks),
              milliseconds: performance.now() - startedAt
            })
          )
        }
      )
      request.on("error", reject)
      request.end(body)
    })

  const rerank = (query: string, signal?: AbortSignal) =>
    ask("/api/v1/rerank", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "cohere/rerank-v3.5", query, documents: ["a"] }),
      ...(signal === undefined ? {} : { signal })
    })

  const json = ({ bytes }: Answer): unknown => JSON.parse(bytes.toString())

  const field = (answer: Answer, name: string): string => {
    const found = json(answer)
    const value: unknown = typeof found === "object" && found !== null ? Reflect.get(found, name) : undefined
    return typeof value === "string" ? value : expect.fail(answer.bytes.toString())
  }

  it.skipIf(program === undefined)("waits for a response that takes longer than a minute", async () => {
    const { milliseconds, status } = await rerank(`slow ${name}`)
    expect(status).toBe(200)
    expect(milliseconds).toBeGreaterThan(slowResponse - 1000)
  })

  it.skipIf(program === undefined)("takes uploads of 25 MB, and sends ranges of them", async () => {
    const content = randomBytes(25 * mebibyte)
    const uploaded = await ask("/api/v1/files", {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=x" },
      body: Buffer.concat([
        Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'),
        content,
        Buffer.from("\r\n--x--\r\n")
      ])
    })
    const path = `/api/v1/files/${field(uploaded, "id")}/content`
    const whole = await ask(path)
    const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
    expect(sha256(whole.bytes)).toBe(sha256(content))
    const range = await ask(path, { headers: { range: "bytes=1000-1999" } })
    expect([range.status, range.headers["content-range"]]).toEqual([206, `bytes 1000-1999/${content.length}`])
    expect(range.bytes.equals(content.subarray(1000, 2000))).toBe(true)
  })

  it.skipIf(program === undefined)("passes a body on before it is complete", async () => {
    const refused = new Promise<number>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          servername: "localhost",
          port: proxy.port,
          path: "/api/v1/files",
          method: "POST",
          agent: false,
          ca: readFileSync(certificate.cert),
          headers: {
            host: "localhost",
            "content-length": 25 * mebibyte,
            "content-type": "multipart/form-data; boundary=x"
          }
        },
        ({ statusCode = 0 }) => {
          resolve(statusCode)
          request.destroy()
        }
      )
      onTestFinished(() => void request.destroy())
      request.on("error", reject)
      request.write("--x\r\n")
    })
    expect(await refused).toBe(401)
  })

  it.skipIf(program === undefined)("ends a request whose client disconnects", async () => {
    const query = `hang ${name}`
    const client = new AbortController()
    const answer = rerank(query, client.signal)
    await expect.poll(() => asked.has(query)).toBe(true)
    client.abort()
    await expect(answer).rejects.toThrow("aborted")
    await expect.poll(() => aborted.has(query)).toBe(true)
  })

  it.skipIf(program === undefined)("tells the address of each client, whatever a client claims", async () => {
    // A key that is mistyped is recognized, and no guess. One that was deleted could be.
    const management = gateway?.managementKey
    const created = await ask("/api/v1/keys", {
      method: "POST",
      key: management,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "deleted" })
    })
    const key = field(created, "key")
    await ask(`/api/v1/keys/${createHash("sha256").update(key).digest("hex")}`, { method: "DELETE", key: management })
    const guess = (from: string, claimed: string) =>
      ask("/api/v1/key", { from, key, headers: { "x-forwarded-for": claimed } })
    // Each failure of an address delays its next one by a second, up to two.
    for (let i = 0; i < 3; i++) expect((await guess(guesser, `192.0.2.${i}`)).status).toBe(401)
    expect((await guess(guesser, "192.0.2.9")).milliseconds).toBeGreaterThan(1900)
    expect((await guess(other, guesser)).milliseconds).toBeLessThan(900)
  })

  it.skipIf(program === undefined)("speaks HTTP/2", async () => {
    const session = connectHttp2(`https://localhost:${proxy.port}`, {
      ca: readFileSync(certificate.cert),
      lookup: (_, __, done) => done(null, [{ address: "127.0.0.1", family: 4 }])
    })
    onTestFinished(() => session.destroy())
    const stream = session.request({ ":path": "/api/v1/key", authorization: `Bearer ${gateway?.key ?? ""}` })
    const status = await new Promise((resolve, reject) => {
      stream.on("response", (headers) => resolve(headers[":status"]))
      session.on("error", reject)
    })
    expect([session.alpnProtocol, status]).toEqual(["h2", 200])
  })

  it.skipIf(program === undefined)("makes a video, whose polls wait and whose content has ranges", async () => {
    const submitted = await ask("/api/v1/videos", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "320x240" })
    })
    const path = field(submitted, "polling_url")
    let job = submitted
    while (/pending|in_progress/.test(field(job, "status"))) job = await ask(`${path}?wait=60`)
    const content = await ask(`${path}/content`, { headers: { range: "bytes=4-7" } })
    expect([content.status, content.bytes.toString()]).toEqual([206, "ftyp"])
  })

  it.skipIf(program === undefined)("passes /mcp on, and keeps /metrics to itself", async () => {
    const begun = await ask("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
      })
    })
    expect([begun.status, begun.bytes.toString().includes('"serverInfo"')]).toEqual([200, true])
    expect((await ask("/metrics")).status).toBe(404)
    expect((await ask("/readyz")).status).toBe(200)
  })
})

it("waits longer for a response than any operation takes", () => {
  const settings = readFileSync(fileURLToPath(new URL("../../../docs/reference/settings.md", import.meta.url)), "utf8")
  const [, minutes = ""] = /`--deadline-transcription`[^\n]*?`(\d+) minutes`/.exec(settings) ?? []
  for (const [file, pattern] of [
    ["nginx.conf", /proxy_read_timeout (\d+)s/],
    ["traefik-routes.yml", /responseHeaderTimeout: (\d+)s/]
  ] as const) {
    const [, seconds = ""] = pattern.exec(configured(file, [])) ?? []
    expect(Number(seconds)).toBeGreaterThan(Number(minutes) * 60)
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))
