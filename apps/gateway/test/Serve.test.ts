import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as LogLine from "@model-gateway/server/LogLine"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import * as Commands from "./Commands.ts"
import { version } from "../src/Version.ts"
import { currentKey, firstKey, folder, run, serve, type Served, start } from "./Executable.ts"

/** An upload whose body is not complete: a request that is in flight until the test finishes it. */
interface Upload {
  readonly finish: () => void
  /** All that came back, once the connection has closed. */
  readonly answer: Promise<string>
}

const upload = async ({ port }: Served, key: string): Promise<Upload> => {
  const body = [
    '--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n',
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n',
    "a".repeat(100_000),
    "\r\n--x--\r\n"
  ].join("")
  const socket = await open(port)
  socket.write(
    `POST /api/v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\nexpect: 100-continue\r\n` +
      `content-type: multipart/form-data; boundary=x\r\ncontent-length: ${body.length}\r\n\r\n`
  )
  let received = ""
  const answer = new Promise<string>((resolve) => socket.once("close", () => resolve(received)))
  // "100 Continue" says that the request has reached its handler.
  await new Promise<void>((resolve) =>
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk
      if (received.includes("100 Continue")) resolve()
    })
  )
  socket.write(body.slice(0, 1000))
  return { finish: () => void socket.write(body.slice(1000)), answer }
}

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    socket.on("error", reject)
    onTestFinished(() => void socket.destroy())
  })

describe("serve", () => {
  it("creates a workspace, two keys and a working curl command on its first run, and later runs keep them", async () => {
    const dataDir = folder()
    const first = await serve(dataDir)
    const key = await firstKey(first)
    const [, managementKey = ""] = await first.prints(/management key +(mg_mk_\w{38})/)
    const [, url = "", header = "", body = ""] = await first.prints(
      /curl (\S+\/rerank) -H "Authorization: (Bearer \w+)" -H "Content-Type: application\/json" -d '([^']+)'/
    )
    const answer = await fetch(url, {
      method: "POST",
      headers: { authorization: header, "content-type": "application/json", connection: "close" },
      body
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ model: "sandbox/bm25", results: [{ index: 1 }, { index: 0 }] })

    expect(readdirSync(dataDir).filter((name) => name.endsWith(".env"))).toEqual([])
    const reference = await fetch(`${first.origin}/docs`, { headers: { connection: "close" } })
    expect(await reference.text()).toContain(`<span>Gateway ${version}, API 1.0.0</span>`)

    first.signal("SIGINT")
    const ended = await first.ended
    expect(ended).toMatchObject({ code: 0, stderr: "" })

    const second = await serve(dataDir)
    const record = await currentKey(second.origin, key)
    expect(await record.json()).toMatchObject({ data: { usage: 0.001 } })
    expect((await currentKey(second.origin, managementKey)).status).toBe(200)
    second.signal("SIGTERM")
    const { code, stdout } = await second.ended
    expect(code).toBe(0)
    expect(stdout).not.toContain("first run")
    expect(stdout).not.toMatch(/mg_[sm]k_/)
  })

  it.each(["auto", "both"])(
    "with --first-keys %s writes the keys to a private file and prints none if standard output is no terminal",
    async (firstKeys) => {
      const dataDir = folder()
      const gateway = await serve(dataDir, [], { MODEL_GATEWAY_FIRST_KEYS: firstKeys })
      const file = join(dataDir, "first-keys.env")
      await gateway.prints(/They are in \S+first-keys\.env, which only its owner can read\./)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const text = readFileSync(file, "utf8")
      expect(text).toContain(`\nMODEL_GATEWAY_BASE_URL=${gateway.origin}/api/v1\n`)
      for (const name of ["API_KEY", "MANAGEMENT_KEY"]) {
        const [, key = ""] = new RegExp(`^MODEL_GATEWAY_${name}=(mg_[sm]k_\\w{38})$`, "m").exec(text) ?? []
        expect((await currentKey(gateway.origin, key)).status).toBe(200)
      }
      gateway.signal("SIGTERM")
      const { stderr, stdout } = await gateway.ended
      expect(`${stdout}${stderr}`).not.toMatch(/mg_[sm]k_/)
    }
  )

  it("keeps the address in the file of the first keys up to date, until the file is deleted", async () => {
    const dataDir = folder()
    const file = join(dataDir, "first-keys.env")
    const first = await serve(dataDir, [], { MODEL_GATEWAY_FIRST_KEYS: "file" })
    await first.prints(/They are in/)
    const written = readFileSync(file, "utf8")
    const second = await serve(dataDir)
    const updated = written.replace(first.origin, second.origin)
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).toBe(updated))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    rmSync(file)
    const third = await serve(dataDir)
    third.signal("SIGTERM")
    await third.ended
    expect(readdirSync(dataDir).filter((name) => name.startsWith("first-keys"))).toEqual([])
  })

  it("creates only the management key that the operator provides, prints none, and keeps it on later runs", async () => {
    const [provided, another] = await Promise.all([
      Commands.run(["keys", "generate"]).then(({ stdout }) => stdout.trim()),
      Commands.run(["keys", "generate"]).then(({ stdout }) => stdout.trim())
    ])
    const keyFile = join(folder(), "management-key")
    writeFileSync(keyFile, `${provided}\n`)
    const dataDir = folder()
    const start = async () => {
      const gateway = await serve(dataDir, ["--bootstrap-management-key-file", keyFile])
      const isReady = async () => (await fetch(`${gateway.origin}/readyz`, { headers: { connection: "close" } })).status
      await expect.poll(isReady).toBe(200)
      return gateway
    }
    const keysOf = async (gateway: Served) => {
      const environment = { MODEL_GATEWAY_MANAGEMENT_KEY: provided }
      const { stdout } = await Commands.run(["keys", "list", "--json", "--url", gateway.origin], environment)
      return JSON.parse(stdout) as unknown
    }
    const one = { data: [{ name: "First management key", is_management_key: true }] }

    const first = await start()
    await first.prints(
      /a workspace with 10 credits\. Its only key is the management key of --bootstrap-\S+-file \(the file/
    )
    expect(await keysOf(first)).toMatchObject(one)
    first.signal("SIGTERM")
    const second = await start()
    expect(await keysOf(second)).toMatchObject(one)
    second.signal("SIGTERM")
    for (const { ended } of [first, second]) {
      const { code, stderr, stdout } = await ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout).not.toMatch(/mg_[sm]k_/)
    }
    expect(readdirSync(dataDir).filter((name) => name.startsWith("first-keys"))).toEqual([])

    // Another key has no effect. The log says so.
    writeFileSync(keyFile, another)
    const third = await start()
    await vi.waitFor(() =>
      expect(third.logged()).toMatch(/management key of --bootstrap-\S+ \(the file \S+\) has no effect/)
    )
    expect((await currentKey(third.origin, another)).status).toBe(401)
    expect(await keysOf(third)).toMatchObject(one)
    third.signal("SIGTERM")
    expect((await third.ended).stderr).not.toMatch(/mg_[sm]k_/)
  })

  it("rejects a bootstrap key that is not a management key in one sentence, and creates nothing", async () => {
    const keyFile = join(folder(), "management-key")
    const generated = (await Commands.run(["keys", "generate"])).stdout.trim()
    const created = await Commands.run(["keys", "create", "--data-dir", await Commands.database()])
    const [ordinary = ""] = /mg_sk_\w{38}/.exec(created.stdout) ?? []
    for (const wrong of [
      "secret",
      ordinary,
      `${generated.slice(0, 20)}${generated[20] === "a" ? "b" : "a"}${generated.slice(21)}`,
      `${generated}\n${generated}`
    ]) {
      writeFileSync(keyFile, wrong)
      const dataDir = join(folder(), "data")
      const args = ["serve", "--port", "0", "--data-dir", dataDir, "--bootstrap-management-key-file", keyFile]
      const { code, stderr, stdout } = await Commands.run(args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(
        /^--bootstrap-management-key-file \(the file \S+\) is not a management key such as .*\.\n$/
      )
      expect(stderr).not.toContain(wrong)
      expect(existsSync(dataDir)).toBe(false)
    }
  })

  it("exits with one sentence when its port is in use, and creates no keys that nobody sees", async () => {
    const first = await serve(folder())
    const dataDir = folder()
    const { code, stderr, stdout } = await run(["serve", "--port", `${first.port}`, "--data-dir", dataDir])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toBe(
      `Port ${first.port} on 127.0.0.1 is in use by another program. Choose another port with --port.\n`
    )
    const again = await serve(dataDir)
    await again.prints(/ordinary key +mg_sk_/)
  })

  it.each(["nowhere.invalid", "192.0.2.1"])(
    "exits with one sentence when %s is not an address of this machine",
    async (host) => {
      const { code, stderr } = await run(["serve", "--host", host, "--port", "0", "--data-dir", folder()])
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `${host} is not an address of this machine. Choose another with --host.\n`
      })
    }
  )

  it("exits with one sentence when a newer version has upgraded its database, as every command does", async () => {
    const dataDir = await Commands.database()
    const database = new DatabaseSync(join(dataDir, "gateway.db"))
    database.exec("INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later_needs_9000')")
    database.close()
    for (const command of [
      ["serve", "--port", "0"],
      ["keys", "list"],
      ["credits", "add", "--amount", "1"]
    ]) {
      const { code, stderr, stdout } = await Commands.run([...command, "--data-dir", dataDir])
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^The database has schema 9000, .* restore a backup .*\.\n$/)
    }
  })

  it("finishes requests in flight after Ctrl-C, also if one keypress sends several signals, and accepts no new ones", async () => {
    const gateway = await serve(folder())
    const { answer, finish } = await upload(gateway, await firstKey(gateway))
    const idle = await open(gateway.port)
    // As under npm, where the terminal and npm both send it.
    gateway.signal("SIGINT")
    gateway.signal("SIGINT")
    await gateway.prints(/Stopping/)
    await expect
      .poll(() =>
        open(gateway.port).then(
          () => "open",
          () => "refused"
        )
      )
      .toBe("refused")
    finish()
    expect(await answer).toMatch(/HTTP\/1\.1 200 OK[\s\S]*"size_bytes":100000/)
    expect(await gateway.ended).toMatchObject({ code: 0, stderr: "" })
    idle.destroy()
  })

  it("gives requests in flight the shutdown timeout, then responds with 503 and exits", async () => {
    const gateway = await serve(folder(), ["--shutdown-timeout", "1 second"])
    const { answer } = await upload(gateway, await firstKey(gateway))
    gateway.signal("SIGTERM")
    expect((await gateway.ended).code).toBe(0)
    expect(await answer).toContain('"code":503')
  })

  it("exits at once on a second Ctrl-C", async () => {
    const gateway = await serve(folder())
    await upload(gateway, await firstKey(gateway))
    gateway.signal("SIGINT")
    await gateway.prints(/Stopping/)
    const repeated = setInterval(() => gateway.signal("SIGINT"), 50)
    onTestFinished(() => clearInterval(repeated))
    expect((await gateway.ended).code).toBe(130)
  })
})

describe("the command line", () => {
  it("has a help text for every command", async () => {
    const { code, stdout } = await run(["--help"])
    expect(code).toBe(0)
    for (const name of ["serve", "keys", "credits", "settings"]) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
    for (const [command, flags] of [
      ["keys create", ["management", "name", "limit", "limit-reset", "expires-at", "workspace", "data-dir", "json"]],
      ["keys list", ["workspace", "data-dir", "json", "config"]],
      ["keys revoke", ["data-dir", "json", "config", "url"]],
      ["credits add", ["amount", "note", "workspace", "data-dir", "json", "config"]],
      ["credits correct", ["amount", "note", "workspace", "data-dir", "json", "config"]],
      ["serve", ["host", "port", "data-dir", "config"]],
      ["settings schema", ["help"]]
    ] as const) {
      const help = await Commands.run([...command.split(" "), "--help"])
      for (const flag of flags) expect(help.stdout).toContain(`--${flag}`)
    }
  })

  it("prints its version", async () => {
    expect((await run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it("names the Node version that it needs if this one has no node:sqlite", async () => {
    for (const args of [
      ["serve", "--port", "0"],
      ["keys", "list"]
    ]) {
      const { code, stderr, stdout } = await start([...args, "--data-dir", folder()], {}, ["--no-experimental-sqlite"])
        .ended
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(
        /^model-gateway needs Node 22\.19\.0 or newer, [^\n]+ https:\/\/nodejs\.org, or run it with node_modules\/\.bin\/node of the clone\.\n$/
      )
    }
  })

  it("rejects an unknown command in one sentence", async () => {
    const { code, stderr, stdout } = await run(["srve"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain("srve")
  })

  it("writes each line as the JSON Schema of the log says, if JSON is set, also what it prints at the start", async () => {
    const gateway = await serve(folder(), ["--log-format", "json", "--log-level", "Trace"])
    const key = await firstKey(gateway)
    const failed = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/status-502", query: "a secret query", documents: ["tea"] })
    })
    expect(failed.status).toBe(502)
    gateway.signal("SIGINT")
    const { stderr, stdout } = await gateway.ended
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(LogLine.LogLine), { onExcessProperty: "error" })
    const lines = `${stdout}${stderr}`
      .trimEnd()
      .split("\n")
      .map((line) => decode(line))
    const events = new Set(lines.map(({ event }) => event))
    for (const event of ["started", "first_run", "request_failed", "stopping"]) expect(events).toContain(event)
    expect(lines.find(({ event }) => event === "request_failed")).toMatchObject({
      level: "INFO",
      request_id: failed.headers.get("x-request-id"),
      operation: "rerank",
      status: 502
    })
    const request = lines.find(({ event }) => event === "request_failed")
    expect(request?.key_hash).toMatch(/^[0-9a-f]{64}$/)
    expect(stderr).not.toContain("a secret query")
    expect(stderr).not.toContain(key)
  })
})
