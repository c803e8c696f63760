// Many large uploads at the same time, to an upstream that reads none of them until it has all.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { expect, it } from "vitest"
import { wavHeader } from "@model-gateway/test-services/Wav"
import { firstKey, folder, serve } from "./Executable.ts"
import { listen } from "./Listen.ts"
import { hasPeak, peakOf, upload, type Upload } from "./Uploads.ts"

const uploads = 50
const bytes = 25_000_000

/**
 * A transcription upstream that reads no body until all requests are there. It counts bytes instead
 * of keeping them: what it received of each request, and the length that was declared.
 */
const slowDouble = async () => {
  const waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  const received: Array<{ readonly bytes: number; readonly declared: number }> = []
  const server = createServer((request, response) => {
    waiting.push([request, response])
    if (waiting.length < uploads) return
    for (const [request, response] of waiting.splice(0)) {
      let size = 0
      request.on("data", (chunk: Buffer) => (size += chunk.length))
      request.on("end", () => {
        received.push({ bytes: size, declared: Number(request.headers["content-length"]) })
        response.writeHead(200, { "content-type": "application/json" }).end('{"text":"hello"}')
      })
    }
  })
  return { received, url: `http://127.0.0.1:${await listen(server)}` }
}

const recording: Upload = {
  path: "/api/v1/audio/transcriptions",
  field: ["model", "openai/whisper-1"],
  filename: "recording.wav",
  bytes,
  header: wavHeader({ rate: 16_000, size: bytes - 44 })
}

it.runIf(hasPeak)(
  "50 uploads of 25 MB to a slow upstream keep the process under 500 MB",
  async () => {
    const { received, url } = await slowDouble()
    const gateway = await serve(folder(), [], { OPENAI_API_KEY: "sk-secret-0123456789", OPENAI_BASE_URL: url })
    const key = await firstKey(gateway)
    const answers = await Promise.all(Array.from({ length: uploads }, () => upload(gateway.port, key, recording)))
    const body = '{"text":"hello","usage":{"cost":0.078125,"seconds":781.248625}}'
    expect(answers).toEqual(answers.map(() => [200, body]))
    expect(received).toHaveLength(uploads)
    expect(received.every(({ bytes: size, declared }) => size === declared && size > bytes)).toBe(true)
    // Measured: 420 to 450 MB on a busy machine with two cores.
    expect(peakOf(gateway.pid)).toBeLessThan(500_000_000)
  },
  300_000
)
