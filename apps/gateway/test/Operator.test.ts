import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:https"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { database, run } from "./Commands.ts"
import { firstKey, folder, serve, shared } from "./Executable.ts"
import { listen } from "./Listen.ts"
import { certificate } from "./Receiver.ts"

const WithId = Schema.Struct({ id: Schema.String })

const Identified = Schema.decodeUnknownSync(WithId)

const Data = Schema.decodeUnknownSync(Schema.Struct({ data: WithId }))

const List = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Array(WithId) }))

const Secret = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Struct({ secret: Schema.String }) }))

const Named = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Array(Schema.Struct({ name: Schema.String })) }))

const Sums = (value: unknown) =>
  Schema.decodeUnknownSync(
    Schema.Struct({
      data: Schema.Array(
        Schema.StructWithRest(Schema.Struct({ requests: Schema.Int }), [Schema.Record(Schema.String, Schema.Unknown)])
      )
    })
  )(value)

const Created = Schema.decodeUnknownSync(
  Schema.Struct({ key: Schema.String, data: Schema.Struct({ hash: Schema.String }) })
)

/** A gateway with a request in its log, and a video job that was canceled. */
const served = shared(async (atEnd) => {
  const dataDir = folder(atEnd)
  const gateway = await serve(dataDir, [], {}, { atEnd })
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  const key = await firstKey(gateway)
  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${gateway.origin}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close", ...headers },
      body: JSON.stringify(body)
    })
  const reranked = await post("/rerank", { model: "sandbox/bm25", query: "tea", documents: ["green tea"] })
  const rerank = Identified(await reranked.json())
  const submitted = await post("/videos", {
    model: "sandbox/title-card",
    prompt: "x",
    callback_url: "https://callback.invalid/hook"
  })
  const video = Identified(await submitted.json())
  // The id of this request is one that its caller chose.
  const unknown = { model: "no/such", query: "tea", documents: ["green tea"] }
  const rejected = await post("/rerank", unknown, { "x-request-id": "order-4711" })
  await rejected.body?.cancel()
  const environment = { MODEL_GATEWAY_MANAGEMENT_KEY: managementKey }
  // A job that ends at once, and costs no time to render.
  await run(["videos", "cancel", video.id, "--data-dir", dataDir])
  return {
    origin: gateway.origin,
    key,
    requestId: reranked.headers.get("x-request-id") ?? "",
    generationId: rerank.id,
    rejectedId: rejected.headers.get("x-request-id") ?? "",
    videoId: video.id,
    /** Runs a command on the database. */
    here: (...args: ReadonlyArray<string>) => run([...args, "--data-dir", dataDir]),
    /** Runs a command over the network. */
    elsewhere: (...args: ReadonlyArray<string>) => run([...args, "--url", gateway.origin], environment)
  }
})

const jsonOf = (text: string): unknown => JSON.parse(text)

/** Runs a command on the database and over the network, which print the same. Returns its JSON. */
const both = async (...args: ReadonlyArray<string>): Promise<unknown> => {
  const { elsewhere, here } = served()
  const [one, other] = await Promise.all([here(...args, "--json"), elsewhere(...args, "--json")])
  expect(one).toMatchObject({ code: 0, stderr: "" })
  expect(other).toEqual(one)
  return jsonOf(one.stdout)
}

describe("the commands of an operator", () => {
  it("read the same on the database and, with --url, from a gateway that runs elsewhere", async () => {
    const { elsewhere, generationId, here, key, rejectedId, requestId, videoId } = served()
    expect(await both("requests", "list", "--operation", "rerank")).toMatchObject({
      data: [{ id: generationId, request_id: requestId, model: "sandbox/bm25", status: "completed" }]
    })
    for (const at of [here, elsewhere]) {
      const { stdout } = await at("requests", "show", requestId)
      expect(stdout).toMatch(/result +completed\n +provider +sandbox\n[\s\S]*PROVIDER +OUTCOME .*\nsandbox +Success/)
    }
    for (const id of [requestId, generationId]) {
      expect(await both("requests", "show", id)).toMatchObject({ data: [{ id: generationId, request_id: requestId }] })
    }
    // It is stored within a second of its answer.
    await expect.poll(async () => (await here("requests", "show", rejectedId)).code, { timeout: 20_000 }).toBe(0)
    const refused = { request_id: rejectedId, operation: "rerank", status: 404, address: "127.0.0.1" }
    expect(await both("requests", "show", rejectedId)).toMatchObject({ data: [], rejected: [refused] })
    expect(await both("requests", "rejected", "--status", "404", "--key", key)).toMatchObject({ data: [refused] })
    expect(await both("requests", "list", "--status", "expired")).toEqual({ data: [] })
    expect(await both("keys", "list")).toMatchObject({ data: [{}, {}] })
    const names = (listed: unknown) => Named(listed).data.map(({ name }) => name)
    expect(names(await both("keys", "list", "--search", "MANAGEMENT"))).toEqual(["First management key"])
    expect(names(await both("keys", "list", "--sort", "name"))).toEqual(["First key", "First management key"])
    expect(await both("keys", "list", "--search", "nothing")).toEqual({ data: [] })
    expect(await both("keys", "show", key)).toMatchObject({ data: { name: "First key" } })
    expect(await both("workspaces", "list")).toMatchObject({ data: [{ slug: "default", is_default: true }] })
    expect(await both("workspaces", "show", "default")).toMatchObject({ data: { slug: "default" } })
    expect(await both("credits", "show", "--workspace", "default")).toMatchObject({ data: { total_credits: 10 } })
    expect(await both("guardrails", "list")).toEqual({ data: [] })
    for (const by of ["day", "model", "provider", "workspace"]) {
      const { data } = Sums(await both("usage", "--by", by, "--key", key))
      expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(2)
      expect(data.every((row) => row[by === "workspace" ? "workspace_id" : by] !== undefined)).toBe(true)
    }
    expect(Named(await both("usage", "--by", "key")).data.map(({ name }) => name)).toContain("First key")
    expect(await both("webhooks", "list", "--status", "failed")).toEqual({ data: [] })
    expect(await both("videos", "show", videoId)).toMatchObject({ id: videoId, status: "cancelled" })
    expect(await both("videos", "list", "--status", "cancelled")).toMatchObject({ data: [{ id: videoId }] })
    const deliveries = await both("webhooks", "list", "--video", videoId)
    expect(deliveries).toMatchObject({ data: [{ video_id: videoId, type: "video.cancelled" }] })
  })

  it("change what a running gateway has, on its database and over the network", async () => {
    const { elsewhere, here, videoId } = served()
    for (const [name, at] of [
      ["here", here],
      ["elsewhere", elsewhere]
    ] as const) {
      const json = async (...args: ReadonlyArray<string>): Promise<unknown> => {
        const { code, stderr, stdout } = await at(...args, "--json")
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        return jsonOf(stdout)
      }
      expect(await json("workspaces", "create", name, "--name", "A team")).toMatchObject({ data: { slug: name } })
      const made = Created(await json("keys", "create", "--workspace", name, "--limit", "5"))
      const { hash } = made.data
      expect(made.key).toMatch(/^mg_sk_/)
      const expiresAt = "2099-01-01T00:00:00.000Z"
      const changed = ["--name", "CI", "--disabled", "yes", "--limit-reset", "daily", "--expires-at", expiresAt]
      expect(await json("keys", "update", made.key, ...changed, "--byok-in-limit", "yes")).toMatchObject({
        data: {
          name: "CI",
          disabled: true,
          is_free_tier: false,
          limit: 5,
          limit_reset: "daily",
          include_byok_in_limit: true,
          expires_at: expiresAt
        }
      })
      const removed = ["--unset", "limit", "--unset", "expires-at", "--disabled", "no", "--free-tier", "yes"]
      expect(await json("keys", "update", hash.slice(0, 12), ...removed)).toMatchObject({
        data: { name: "CI", disabled: false, is_free_tier: true, limit: null, limit_reset: null, expires_at: null }
      })
      const limits = ["--limit", "1", "--allow-models", "a/*,b"]
      const guardrail = await json("guardrails", "create", "--name", name, ...limits)
      expect(guardrail).toMatchObject({
        data: { limit_usd: 1, allowed_models: ["a/*", "b"], allowed_providers: null }
      })
      const { id } = Data(guardrail).data
      const changes = await json("audit", "list", "--target", hash, "--action", "updateKey", "--limit", "1")
      expect(changes).toMatchObject({ data: [{ target_kind: "key", target_id: hash, after: { is_free_tier: true } }] })
      expect((await at("audit", "list", "--target", hash)).stdout).toMatch(/updateKey .*key [\da-f]{16} .*"CI"/)
      expect(await json("audit", "list", "--to", "2020-01-01")).toEqual({ data: [] })
      const other = ["--limit-reset", "weekly", "--ignore-models", "c", "--unset", "allow-models"]
      expect(await json("guardrails", "update", id, ...other)).toMatchObject({
        data: { name, limit_usd: 1, reset_interval: "weekly", allowed_models: null, ignored_models: ["c"] }
      })
      expect(await json("guardrails", "update", id, "--unset", "limit", "--description", "x")).toMatchObject({
        data: { limit_usd: null, reset_interval: null, ignored_models: ["c"], description: "x" }
      })
      expect(await json("guardrails", "assign", id, hash.slice(0, 12))).toMatchObject({ assigned_count: 1 })
      expect(await json("guardrails", "show", id)).toMatchObject({ keys: [{ key_hash: hash }] })
      expect(await json("guardrails", "unassign", id, made.key)).toEqual({ unassigned_count: 1 })
      await json("guardrails", "delete", id)
      const rotated = Secret(await json("webhooks", "rotate-secret", "--workspace", name))
      expect(rotated.data.secret).toMatch(/^whsec_/)
      const [delivery] = List(await json("webhooks", "list", "--video", videoId)).data
      const { id: event = "" } = delivery ?? {}
      expect(await json("webhooks", "show", event)).toMatchObject({ data: { id: event } })
      expect(await json("webhooks", "redeliver", event)).toMatchObject({ data: { id: event } })
      expect(Created(await json("keys", "rotate", hash)).key).toMatch(/^mg_sk_/)
      const watch = ["--kind", "key_expires", "--threshold", "5", "--key", hash.slice(0, 12)]
      const target = ["--target-type", "slack", "--target-url", "https://hooks.example/T0/secret"]
      const { id: alert } = Data(await json("alerts", "create", "--name", name, ...watch, ...target)).data
      expect(await json("alerts", "show", alert)).toMatchObject({
        data: { kind: "key_expires", threshold: 5, key_hash: hash, target: { url: "https://hooks.example" } }
      })
      expect(Named(await json("alerts", "list")).data.map((each) => each.name)).toContain(name)
      const slack = ["--target-url", "https://hooks.example:8443/T0/other"]
      const another = ["--threshold", "7", "--enabled", "no", "--unset", "key", ...slack]
      expect(await json("alerts", "update", alert, ...another)).toMatchObject({
        data: {
          name,
          threshold: 7,
          enabled: false,
          key_hash: null,
          target: { type: "slack", url: "https://hooks.example:8443" }
        }
      })
      expect(await json("alerts", "update", alert, "--key", hash.slice(0, 12), "--enabled", "yes")).toMatchObject({
        data: { threshold: 7, enabled: true, key_hash: hash }
      })
      expect(await json("alerts", "test", alert)).toMatchObject({ data: { type: "alert.test", status: "pending" } })
      expect(List(await json("alerts", "firings")).data).toEqual([])
      expect(await json("alerts", "delete", alert)).toEqual({ deleted: true, id: alert })
      await json("keys", "revoke", hash)
      const renamed = ["--slug", `${name}-2`, "--callback-url", "https://a.example/x", "--file-shape", "compat_a"]
      const workspace = { name: "A team", default_callback_url: "https://a.example/x", file_shape: "compat_a" }
      expect(await json("workspaces", "update", name, ...renamed)).toMatchObject({
        data: { ...workspace, slug: `${name}-2` }
      })
      expect(await json("workspaces", "update", `${name}-2`, "--slug", name, "--unset", "callback-url")).toMatchObject({
        data: { ...workspace, slug: name, default_callback_url: null }
      })
      expect(await json("workspaces", "delete", name)).toMatchObject({ deleted: true })
    }
  })

  it("say in one sentence what is missing, and nothing on standard output", async () => {
    const { elsewhere, here, key, origin } = served()
    for (const at of [here, elsewhere]) {
      for (const [args, sentence] of [
        [["keys", "list", "--workspace", "nobody"], /^There is no workspace nobody\.\n$/],
        [["workspaces", "show", "nobody"], /^There is no workspace nobody\.\n$/],
        [["workspaces", "delete", "default"], /default workspace/],
        [["workspaces", "update", "nobody", "--name", "x"], /^There is no workspace nobody\.\n$/],
        [["keys", "update", "0123456789", "--name", "x"], /^There is no such key\.\n$/],
        [
          ["guardrails", "update", "00000000-0000-4000-8000-000000000000", "--name", "x"],
          /^There is no such guardrail\.\n$/
        ],
        [["workspaces", "create", "default"], /Another workspace of the organization has this slug/],
        [["guardrails", "show", "00000000-0000-4000-8000-000000000000"], /^There is no such guardrail\.\n$/],
        [["requests", "show", "req_unknown"], /^There is no request req_unknown among /],
        [["requests", "show", "gen-unknown"], /^There is no request gen-unknown among /],
        [["videos", "show", "vid_unknown"], /^There is no such video job\.\n$/],
        [["webhooks", "redeliver", "evt_unknown"], /^There is no such delivery\.\n$/]
      ] as const) {
        const { code, stderr, stdout } = await at(...args)
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
        expect(stderr).toMatch(sentence)
        expect(stderr.trim().split("\n")).toHaveLength(1)
      }
    }
    for (const [args, sentence] of [
      [["alerts", "update", "a", "--target-type", "slack"], /^--target-type needs --target-url: /],
      [["keys", "update", key], /^Nothing is to be changed: use one of --name, .*--expires-at, --unset\.\n$/],
      [
        ["keys", "update", key, "--limit", "1", "--unset", "limit"],
        /^--limit and --unset limit exclude each other\.\n$/
      ],
      [["keys", "update", key, "--limit-reset", "daily", "--unset", "limit"], /^--limit-reset and --unset limit /],
      [
        ["keys", "update", key, "--limit-reset", "daily"],
        /^--limit-reset needs a --limit to reset: the key has none\.\n$/
      ],
      [
        ["keys", "update", key, "--expires-at", "2020-01-01T00:00:00Z"],
        /^--expires-at 2020-\S+ has already passed\.\n$/
      ],
      [["keys", "update", key, "--unset", "name"], /unset/],
      [["workspaces", "update", "default", "--callback-url", "http://a.example"], /Expected an https URL/]
    ] as const) {
      const { code, stderr, stdout } = await here(...args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(sentence)
    }
    const at = ["keys", "list", "--url"]
    const wrong = { MODEL_GATEWAY_MANAGEMENT_KEY: "mg_mk_wrong" }
    for (const [args, environment, code, sentence] of [
      [[...at, origin], {}, 2, /needs a management key .* MODEL_GATEWAY_MANAGEMENT_KEY\.\n$/],
      [[...at, origin, "--data-dir", "x"], wrong, 2, /^--url excludes --config and --data-dir\.\n$/],
      [[...at, "gateway.example"], wrong, 2, /^--url is not an http/],
      [[...at, "http://user:secret@127.0.0.1"], wrong, 2, /^--url is not an http/],
      [[...at, origin], wrong, 1, /: the key in MODEL_GATEWAY_MANAGEMENT_KEY is not accepted: .* \(request req_\w+\)/],
      [[...at, origin], { MODEL_GATEWAY_MANAGEMENT_KEY: served().key }, 1, /only management keys/],
      [[...at, "http://127.0.0.1:1"], wrong, 1, /^http:\/\/127\.0\.0\.1:1: listKeys: the connection failed/]
    ] as const) {
      const ended = await run(args, environment)
      expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: "" })
      expect(ended.stderr).toMatch(sentence)
      expect(ended.stderr).not.toContain("mg_mk_wrong")
      expect(ended.stderr).not.toContain("secret")
    }
  })

  it("say at once how to trust the authority of a certificate", async () => {
    let connections = 0
    const server = createServer(certificate()).on("connection", () => connections++)
    const url = `https://localhost:${await listen(server)}`
    const ended = await run(["keys", "list", "--url", url], { MODEL_GATEWAY_MANAGEMENT_KEY: "mg_mk_any" })
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 1, stdout: "" })
    expect(ended.stderr).toBe(
      `${url}: listKeys: the connection failed (DEPTH_ZERO_SELF_SIGNED_CERT) after 1 attempt. ` +
        "This machine does not trust the authority of the certificate. " +
        "If you trust it, set NODE_EXTRA_CA_CERTS=/path/to/ca.pem in the environment of the program.\n"
    )
    expect(connections).toBe(1)
  })

  it("work on the database of a gateway that serves below a path", async () => {
    const below = { MODEL_GATEWAY_BASE_PATH: "/gateway" }
    const dataDir = await database()
    const { code, stdout } = await run(["workspaces", "list", "--json", "--data-dir", dataDir], below)
    expect(code).toBe(0)
    expect(jsonOf(stdout)).toMatchObject({ data: [{ slug: "default" }] })
  })

  it("leave nothing of theirs in the database and its folder", async () => {
    const dataDir = await database()
    await run(["keys", "list", "--data-dir", dataDir])
    expect(await run(["keys", "list", "--json", "--data-dir", dataDir])).toMatchObject({
      stdout: '{\n  "data": []\n}\n'
    })
  })

  it("end quietly when the reader of their output stops reading, and serve goes on", async () => {
    const child = spawn(process.execPath, [executable, "serve", "--port", "0", "--data-dir", folder()], {
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe"]
    })
    onTestFinished(() => void child.kill("SIGKILL"))
    let stderr = ""
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
    const line = await new Promise<string>((resolve) => child.stdout.setEncoding("utf8").once("data", resolve))
    const [origin = ""] = /http:\/\/[\d.:]+/.exec(line) ?? []
    child.stdout.destroy()
    // It has printed the keys of the first run once it is ready.
    await expect
      .poll(async () => (await fetch(`${origin}/readyz`, { headers: { connection: "close" } })).status)
      .toBe(200)
    child.kill("SIGTERM")
    await once(child, "close")
    expect({ code: child.exitCode, stderr }).toEqual({ code: 0, stderr: "" })
  })
})
