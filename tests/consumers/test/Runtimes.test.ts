// One program on every runtime that a server may have, each with the packed core and the runtime's
// own `fetch`. `vitest run --project packages test/Runtimes.test.ts --update` writes the table of
// the guide.
import { FetchGateway } from "@model-gateway/core"
import { DtmfTone } from "@model-gateway/sandbox"
import { type Gateway, type Running, start, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { oldestNode, oldestVersion } from "@model-gateway/test-services/Nodes"
import { readManifest } from "@model-gateway/test-services/Packages"
import { Effect, Redacted } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { root, succeed } from "@model-gateway/test-services/Command"
import { environment, type Front, startFront } from "./support/Front.ts"

const cwd = join(inject("installed"), "runtimes")

/** The checks of the program, as the table calls them. */
const checks = {
  deleteFile: "upload, read and delete a file",
  keyInformation: "read the calling key",
  rerank: "rerank documents",
  transcription: "transcribe audio of the request's body",
  submitVideo: "submit a video, wait for it, download it",
  assignKeys: "assign keys to a guardrail",
  streamingUpload: "an upload of 16 MiB that takes longer than the time limit, but makes progress",
  retry: "retry a call and an upload after a 503, with the same idempotency key",
  abort: "an `AbortSignal` ends the call and closes its connection",
  redirect: "a redirect to another origin does not get the key",
  webhook: "verify a webhook, and reject a forged one"
}

type Check = keyof typeof checks

const isCheck = (name: string): name is Check => Object.hasOwn(checks, name)

const checkNames = Object.keys(checks).filter(isCheck)

interface Runtime {
  /** The part of the URL that tells its requests from others. */
  readonly id: string
  readonly title: string
  readonly version: string
  /** Undefined: this platform has none. */
  readonly command: ReadonlyArray<string> | undefined
  /** How it says where it listens. The port is the first group. */
  readonly listens?: RegExp
}

const { devDependencies: pinned = {} } = readManifest(join(root, "tests/consumers"))
const versionOf = (name: string): string => pinned[name] ?? ""

/** An executable in one of the optional dependencies of a package. */
const executable = (name: string, dependencies: ReadonlyArray<string>, file: string): string | undefined => {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve(`${name}/package.json`))
  return dependencies
    .flatMap((dependency) => {
      try {
        return [join(dirname(resolve(`${dependency}/package.json`)), file)]
      } catch {
        return []
      }
    })
    .find((path) => existsSync(path))
}

const { arch, platform } = process

const bun = executable(
  "bun",
  ["", "-musl"].map((libc) => `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}${libc}`),
  "bin/bun"
)

const deno = executable(
  "deno",
  ["", "-glibc"].map((libc) => `@deno/${platform}-${arch}${libc}`),
  "deno"
)

const workerd = executable(
  "workerd",
  [`@cloudflare/workerd-${platform}-${arch === "x64" ? "64" : arch}`],
  "bin/workerd"
)

const runtimes: ReadonlyArray<Runtime> = [
  { id: "node", title: "Node", version: process.versions.node, command: [process.execPath, "src/node.mjs"] },
  {
    id: "node22",
    title: "Node",
    version: oldestVersion,
    command: oldestNode === undefined ? undefined : [oldestNode, "src/node.mjs"]
  },
  {
    id: "bun",
    title: "Bun",
    version: versionOf("bun"),
    command: bun === undefined ? undefined : [bun, "--no-install", "src/bun.ts"]
  },
  {
    id: "deno",
    title: "Deno",
    version: versionOf("deno"),
    command:
      deno === undefined
        ? undefined
        : [deno, "run", "--node-modules-dir=manual", "--no-remote", "--allow-net", "--allow-env", "src/deno.ts"]
  },
  {
    id: "workerd",
    title: "workerd (Cloudflare)",
    version: versionOf("workerd"),
    command: workerd === undefined ? undefined : [workerd, "serve", "worker.capnp", "--control-fd=3"],
    listens: /"event":\s*"listen".*"port":\s*(\d+)/
  },
  {
    id: "edge",
    title: "edge-runtime (Vercel)",
    version: versionOf("edge-runtime"),
    command: [process.execPath, "edge.mjs"]
  }
]

let data: string
let gateway: Gateway
let front: Front
const running = new Map<string, Running & { readonly origin: string }>()

const originOf = (runtime: string): string => running.get(runtime)?.origin ?? ""

const startRuntime = async ({ command, id, listens = /http:\/\/127\.0\.0\.1:(\d+)/ }: Runtime, secret: string) => {
  const [file, ...args] = command ?? []
  if (file === undefined) return
  const env = {
    MODEL_GATEWAY_BASE_URL: `${front.origin}/plain/${id}/api/v1`,
    GATEWAY_ORIGIN: front.origin,
    RUNTIME: id,
    MODEL_GATEWAY_API_KEY: gateway.key,
    MODEL_GATEWAY_MANAGEMENT_KEY: gateway.managementKey,
    CALLBACK_URL: `${front.receiver}/${id}`,
    WEBHOOK_SECRET: secret,
    DENO_DIR: join(data, "deno"),
    DENO_NO_UPDATE_CHECK: "1"
  }
  const child = start(file, args, { cwd, env })
  running.set(id, { ...child, origin: "" })
  const [, port = ""] = await child.prints(listens)
  running.set(id, { ...child, origin: `http://127.0.0.1:${port}` })
}

const audio = DtmfTone.wav("555 0199")

const run = async (runtime: string, check: string): Promise<unknown> => {
  const response = await fetch(`${originOf(runtime)}/checks/${check}`, { method: "POST", body: audio })
  return response.json()
}

/** What each runtime said of each check: `bun rerank`. */
const answers = new Map<string, Promise<unknown>>()

/** Begins checks, all at once: the client of a runtime serves requests at the same time. */
const begin = (id: string, begun: ReadonlyArray<Check>) => {
  for (const check of begun) answers.set(`${id} ${check}`, run(id, check))
}

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const built = succeed(join(cwd, "node_modules/.bin/vite"), ["build"], { cwd })
  gateway = await startGateway(data, environment)
  front = await startFront(gateway.origin, originOf)
  const { secret } = await Effect.runPromise(
    FetchGateway.make({ baseUrl: `${gateway.origin}/api/v1`, credential: Redacted.make(gateway.managementKey) }).pipe(
      Effect.flatMap((management) => management.rotateWebhookSecret("default"))
    )
  )
  await built
  await Promise.all(runtimes.map((runtime) => startRuntime(runtime, secret)))
  const present = runtimes.filter(({ command }) => command !== undefined)
  // One after another, before the processors are busy: the gateway decodes audio within a second.
  for (const { id } of present) {
    begin(id, ["transcription"])
    await answers.get(`${id} transcription`)
  }
  // All wait at the same time.
  for (const { id } of present) begin(id, ["streamingUpload"])
})

afterAll(async () => {
  await Promise.all(Array.from(running.values(), (each) => each.stop()))
  front?.stop()
  await gateway?.stop()
  rmSync(data, { recursive: true, force: true })
})

const passed = new Map<string, Set<Check>>(runtimes.map(({ id }) => [id, new Set()]))

/** What the runtime's clients sent with this treatment. */
const came = (runtime: string, treatment: string) =>
  front.came.filter((each) => each.runtime === runtime && each.treatment === treatment)

it("has every runtime (skipped where npm has none for this platform, but not in CI)", () => {
  const missing = runtimes
    .filter(({ command }) => command === undefined)
    .map(({ title, version }) => `${title} ${version}`)
  expect(process.env["CI"] === undefined ? [] : missing).toEqual([])
})

for (const { command, id, title, version } of runtimes) {
  describe.skipIf(command === undefined)(`${title} ${version}`, () => {
    beforeAll(() =>
      begin(
        id,
        checkNames.filter((check) => check !== "webhook" && !answers.has(`${id} ${check}`))
      )
    )

    const answerTo = (check: Check) => answers.get(`${id} ${check}`)

    for (const check of [
      "deleteFile",
      "keyInformation",
      "rerank",
      "transcription",
      "submitVideo",
      "assignKeys",
      "streamingUpload"
    ] as const) {
      it(checks[check], async () => {
        expect(await answerTo(check)).toEqual({ passed: true })
        passed.get(id)?.add(check)
      })
    }

    it(checks.retry, async () => {
      expect(await answerTo("retry")).toEqual({ passed: true })
      const requests = came(id, "busy")
      expect(requests.map(({ call, status }) => [call, status])).toEqual([
        ["POST /api/v1/rerank", 503],
        ["POST /api/v1/rerank", 200],
        ["POST /api/v1/files", 503],
        ["POST /api/v1/files", 200]
      ])
      const [ranking, again, upload, uploadAgain] = requests.map(({ idempotencyKey }) => idempotencyKey)
      expect(ranking).toMatch(/./)
      expect([again, uploadAgain]).toEqual([ranking, upload])
      passed.get(id)?.add("retry")
    })

    it(checks.abort, async () => {
      expect(await answerTo("abort")).toEqual({ passed: true })
      await expect.poll(() => came(id, "silent").map(({ status }) => status)).toEqual(["closed"])
      passed.get(id)?.add("abort")
    })

    it(checks.redirect, async () => {
      expect(await answerTo("redirect")).toEqual({ passed: true })
      expect(came(id, "moved")).toHaveLength(2)
      expect(front.strayed).toEqual([])
      passed.get(id)?.add("redirect")
    })

    it(checks.webhook, async () => {
      await answerTo("submitVideo")
      await expect
        .poll(() => front.deliveries.filter(({ runtime }) => runtime === id), { timeout: 20_000 })
        .toEqual([
          { runtime: id, answer: '200 {"type":"video.completed"}', answerToForged: '400 {"reason":"signature"}' }
        ])
      passed.get(id)?.add("webhook")
    })
  })
}

const page = join(root, "docs/client/runtimes.md")

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`

it.skipIf(runtimes.some(({ command }) => command === undefined))(
  "the table of the guide has the results (written by vitest run --update)",
  async () => {
    const begin = "<!-- results -->\n"
    const end = "\n<!-- end of results -->"
    const rows = checkNames.map((check) => [
      checks[check],
      ...runtimes.map(({ id }) => (passed.get(id)?.has(check) === true ? "yes" : "**no**"))
    ])
    const columns = ["", ...runtimes.map(({ title, version }) => `${title} ${version}`)]
    const table = `${begin}\n${[columns, columns.map(() => "---"), ...rows].map(line).join("")}${end}`
    const written = readFileSync(page, "utf8").replace(new RegExp(`${begin}[^]*${end}`), () => table)
    expect(written).toContain(table)
    await expect(written).toMatchFileSnapshot(page)
  }
)
