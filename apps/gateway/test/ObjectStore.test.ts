// The executable with an object store: refusals at its start, two processes on one bucket, and its
// memory.
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { expect, it, onTestFinished } from "vitest"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { credentials, hasS3, startS3, urlOf } from "@model-gateway/test-services/S3"
import { firstKey, folder, serve, type Served, start } from "./Executable.ts"
import { listen } from "./Listen.ts"
import { startServer } from "./PostgresServer.ts"
import { hasPeak, peakOf, upload, type Upload } from "./Uploads.ts"

const file: Upload = { path: "/api/v1/files", field: ["purpose", "test"], filename: "a.bin", bytes: 25_000_000 }

const idOf = (body: string): string => /"id":"(file_\w+)"/.exec(body)?.[1] ?? ""

it.runIf(hasS3())("a bucket that does not exist is one sentence, and nothing is served", async () => {
  const s3 = await startS3()
  onTestFinished(() => s3.stop())
  const { code, stderr, stdout } = await start(["serve", "--port", "0", "--data-dir", folder()], {
    ...credentials,
    OBJECT_STORE_URL: s3.url({ name: "absent" })
  }).ended
  expect({ code, stderr, stdout }).toEqual({
    code: 1,
    stderr: "The bucket of the object store does not exist (s3://absent/).\n",
    stdout: ""
  })
})

it("a URL with credentials is rejected without repeating them", async () => {
  const { code, stderr } = await start(["serve", "--data-dir", folder()], {
    OBJECT_STORE_URL: "s3://AKIAIOSFODNN7EXAMPLE:hunter2@bucket"
  }).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/^OBJECT_STORE_URL in the environment is "s3:\/\/…@bucket", which is not an S3 URL/)
})

it.runIf(hasS3() && hasPostgres())(
  "a file that one process stored is read and deleted through another one, with a folder of its own",
  async () => {
    const [s3, postgres] = await Promise.all([startS3(), startServer()])
    onTestFinished(() => s3.stop())
    const environment = { ...credentials, OBJECT_STORE_URL: s3.url(), DATABASE_URL: postgres.url }
    const first = await serve(folder(), [], environment)
    await first.prints(/Files and videos are stored in s3:\/\/objects\/\./)
    const key = await firstKey(first)
    const second = await serve(folder(), [], environment)
    const [status, body] = await upload(first.port, key, file)
    expect(status).toBe(200)

    const path = `/api/v1/files/${idOf(body)}`
    const ask = (
      { origin }: Served,
      suffix: string,
      init: { readonly method?: string; readonly headers?: Record<string, string> } = {}
    ) => fetch(origin + path + suffix, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })
    const read = await ask(second, "/content")
    const content = new Uint8Array(await read.arrayBuffer())
    expect(content.length).toBe(file.bytes)
    expect(read.headers.get("etag")).toBe(`"${createHash("sha256").update(content).digest("hex")}"`)
    const part = await ask(second, "/content", { headers: { range: "bytes=10000000-10000012" } })
    expect(await part.text()).toBe(Buffer.from(content.subarray(10_000_000, 10_000_013)).toString())
    expect((await ask(second, "", { method: "DELETE" })).status).toBe(200)
    expect((await ask(first, "/content")).status).toBe(404)
  },
  60_000
)

/**
 * Takes parts of objects as S3 does, after a while, and counts their bytes instead of keeping them.
 */
const slowDouble = async () => {
  const received = { bytes: 0, completed: 0 }
  const server = createServer((request, response) => {
    const url = request.url ?? ""
    request.on("data", (chunk: Buffer) => {
      if (request.method === "PUT") received.bytes += chunk.length
    })
    request.on("end", () => {
      if (request.method === "GET") return response.end("<ListBucketResult></ListBucketResult>")
      if (url.includes("uploads")) {
        return response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
      }
      if (request.method === "PUT") {
        return setTimeout(() => response.writeHead(200, { etag: '"e"' }).end(), 200)
      }
      received.completed++
      return response.end('<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
    })
  })
  return { received, url: urlOf(`http://127.0.0.1:${await listen(server)}`) }
}

it.runIf(hasPeak)(
  "20 uploads of 25 MB to a slow object store keep the process under 500 MB",
  async () => {
    const { received, url } = await slowDouble()
    const gateway = await serve(folder(), [], { ...credentials, OBJECT_STORE_URL: url })
    const key = await firstKey(gateway)
    const answers = await Promise.all(Array.from({ length: 20 }, () => upload(gateway.port, key, file)))
    expect(answers.map(([status]) => status)).toEqual(answers.map(() => 200))
    expect(received).toEqual({ bytes: 20 * file.bytes, completed: 20 })
    // Measured: 400 to 430 MB on a busy machine with two cores.
    expect(peakOf(gateway.pid)).toBeLessThan(500_000_000)
  },
  120_000
)
