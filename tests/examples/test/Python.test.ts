import { pythonProgram } from "@model-gateway/test-services/Python"
import { start } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { environment, folderOf } from "./Example.ts"
import { type Proxy, startProxy } from "./Proxy.ts"

const python = pythonProgram()

let folder: string
let proxy: Proxy

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  proxy = await startProxy()
})

afterAll(async () => {
  await proxy?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const execute = (...args: ReadonlyArray<string>) =>
  start(python ?? "", ["-W", "error", "-B", ...args], {
    cwd: folderOf("python"),
    env: { ...environment(), MODEL_GATEWAY_BASE_URL: proxy.baseUrl }
  })

/** A program over the client, whose last line tells that it ended well. */
const program = (text: string) =>
  execute("-c", `from model_gateway import *\ngateway = Gateway.from_environment()\n${text}\nprint("done")`)

const posts = (path: string) =>
  proxy.exchanges.filter((exchange) => exchange.method === "POST" && exchange.path === `/api/v1${path}`)

describe.skipIf(python === undefined)("the example for Python", () => {
  it("ranks, uploads, and makes a video", async () => {
    const video = join(folder, "dawn.mp4")
    await execute("main.py", "README.md", video).prints(
      /^Best document: pears\nUploaded README.md \(\d+ bytes\)\n(?:Video is (?:pending|in_progress)\n)*Video is completed\nSaved \S+ for 0.01 credits\n$/
    )
    expect(readFileSync(video).subarray(4, 8).toString()).toBe("ftyp")
  })

  it("repeats an upload whose response was lost with the same key, and later again", async () => {
    const before = posts("/files").length
    const lost = proxy.lose("POST", "close")
    const upload = `gateway.upload(Path("main.py"), idempotency_key="upload-1")["id"]`
    await program(`assert ${upload} == ${upload}`).prints(/^done\n$/)
    await lost
    const uploads = posts("/files").slice(before)
    expect(uploads.map(({ headers }) => headers["idempotency-key"])).toEqual(["upload-1", "upload-1", "upload-1"])
    expect(uploads.map(({ responseHeaders }) => responseHeaders["idempotent-replayed"])).toEqual([
      undefined,
      "true",
      "true"
    ])
  })
  it("says what failed, and for which request", async () => {
    await program(`
def failure(call):
    try:
        call()
    except (GatewayError, VideoNotCompleted, TimeoutError) as error:
        return error

unknown = failure(lambda: gateway.rerank(model="nobody/none", query="q", documents=["d"]))
assert str(unknown).startswith("404: ") and str(unknown).endswith(f"(request {unknown.request_id})"), unknown
invalid = failure(lambda: gateway.rerank(model="sandbox/bm25", query="q", documents=[]))
assert (invalid.status, invalid.metadata["issues"][0]["path"]) == (400, "documents"), invalid

impatient = Gateway.from_environment(retries=1)
start = time.monotonic()
overloaded = failure(lambda: impatient.rerank(model="sandbox/status-529", query="q", documents=["d"]))
assert overloaded.status == 529 and time.monotonic() - start >= 1, "it waits as long as Retry-After says"

job = gateway.submit_video(model="sandbox/title-card", prompt="Dawn", duration=8)
late = failure(lambda: gateway.wait_for_video(job["id"], timeout=0))
assert str(late).startswith(f"video job {job['id']} is "), late
gateway._json("POST", f"/videos/{job['id']}/cancel")
ended = failure(lambda: gateway.wait_for_video(job["id"]))
assert ended.job["status"] == "cancelled", ended
`).prints(/^done\n$/)
    const [first, second, ...more] = posts("/rerank").filter(({ status }) => status === 529)
    expect(more).toEqual([])
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"])
  })

  it("gives up when a response takes longer than the timeout", async () => {
    const silence = proxy.lose("GET", "silence")
    await program(`
start = time.monotonic()
try:
    Gateway.from_environment(retries=0, timeout=0.2).wait_for_video("video_1")
except GatewayError as error:
    assert str(error).startswith("no response: TimeoutError") and time.monotonic() - start < 5, error
else:
    raise AssertionError("it waited")
`).prints(/^done\n$/)
    expect(await silence).toMatchObject({ path: "/api/v1/videos/video_1", status: 404 })
  })
})
