/**
 * The upstreams of the filled gateway, on sockets of this process, and what its settings file says
 * of them.
 *
 * They rank and transcribe as the doubles of Cohere and OpenAI do. A request says how one of them
 * fails, in any of its texts: `[cohere 503]` makes the upstream `cohere` answer with status 503, and
 * `[cohere hangs]` never.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { answerTo as rank } from "@model-gateway/test-doubles/CohereDouble"
import type { Recorded, Scripted } from "@model-gateway/test-doubles/Double"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import type { Jobs } from "@model-gateway/test-doubles/JobDouble"
import { answerTo as transcribe } from "@model-gateway/test-doubles/OpenAiDouble"
import { startReplicateDouble } from "@model-gateway/test-doubles/ReplicateDouble"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import type { Random } from "./Random.ts"

/** The key that every upstream accepts. */
const apiKey = "key-of-the-filled-gateway"

const keys = new Set([apiKey])

export interface Upstreams {
  /** The settings file of the gateway. */
  readonly settings: object
  /** How the next video jobs at fal end. */
  readonly fal: Jobs
  /** Ends the upstream `berlin`. Nothing listens at its port then. */
  readonly endBerlin: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Answers after a random time. */
const listen = async (
  name: string,
  answerTo: (request: Recorded) => Scripted,
  delay: () => number
): Promise<Listening> => {
  const failure = new RegExp(`\\[${name} (\\d+|hangs)\\]`)
  const listener: RequestListener = (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const bytes = Buffer.concat(chunks)
      const text = bytes.toString("latin1")
      const [, failed] = failure.exec(text) ?? []
      if (failed === "hangs") return
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([header, value]) => [header, String(value)])
      )
      const { method = "", socket, url = "" } = request
      const { body, status = 200 } =
        failed === undefined
          ? answerTo({ method, url, headers, bytes, text: bytes.toString(), isClosed: () => socket.destroyed })
          : {
              status: Number(failed),
              body: { message: "the service is not available", error: { message: "overloaded" } }
            }
      setTimeout(() => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      }, delay())
    })
  }
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = address === null || typeof address === "string" ? 0 : address.port
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      if (!server.listening) return
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

const whisper = {
  "whisper-1": { verbose: true },
  "whisper-large-v3-turbo": { verbose: true },
  "whisper-large-v3": { verbose: true }
}

export interface Options {
  readonly random: Random
  /** Whether nothing listens at `berlin`, from the start. */
  readonly isBerlinDead: boolean
  /** The longest time of a call, as in the settings file. */
  readonly timeLimit: string
}

export const startUpstreams = async ({ isBerlinDead, random, timeLimit }: Options): Promise<Upstreams> => {
  const cohere = (request: Recorded) => rank(request, keys)
  const openAi = (path: string) => (request: Recorded) => transcribe(request, { keys, models: whisper, path })
  const between = (least: number, most: number) => () => random.integer(least, most)
  const [cohereAt, berlinAt, frankfurtAt, openAiAt, groqAt, fal, runway, replicate, studio] = await Promise.all([
    listen("cohere", cohere, between(1, 4)),
    listen("berlin", cohere, between(0, 1)),
    listen("frankfurt", cohere, between(1, 2)),
    listen("openai", openAi("/v1/audio/transcriptions"), between(2, 5)),
    listen("groq", openAi("/openai/v1/audio/transcriptions"), between(1, 2)),
    startFalDouble({ keys: [apiKey] }),
    startRunwayDouble({ keys: [apiKey] }),
    startReplicateDouble({ keys: [apiKey] }),
    // Its videos are never finished.
    startRunwayDouble({ keys: [apiKey], polls: Number.MAX_SAFE_INTEGER })
  ])
  // A server of another test may get the port of one that has ended, and no server gets port 1.
  const berlinUrl = isBerlinDead ? "http://127.0.0.1:1" : berlinAt.url

  return {
    settings: {
      upstreams: {
        cohere: { apiKey, baseUrl: cohereAt.url, timeLimit },
        berlin: { adapter: "cohere", apiKey, baseUrl: berlinUrl, timeLimit },
        frankfurt: { adapter: "cohere", apiKey, baseUrl: frankfurtAt.url, timeLimit },
        openai: { apiKey, baseUrl: `${openAiAt.url}/v1`, timeLimit },
        groq: { apiKey, baseUrl: groqAt.url, timeLimit },
        fal: { apiKey, baseUrl: fal.url },
        runway: { apiKey, baseUrl: runway.url },
        replicate: { apiKey, baseUrl: `${replicate.url}/v1` },
        studio: { adapter: "runway", apiKey, baseUrl: studio.url }
      },
      models: {
        "acme/rerank": {
          name: "Acme Rerank",
          offers: [
            { upstream: "berlin", model: "rerank-v3.5", price: { search_unit: 0.001 } },
            { upstream: "frankfurt", model: "rerank-v3.5", price: { search_unit: 0.0015 } },
            { upstream: "cohere", model: "rerank-v3.5" }
          ]
        },
        "acme/rerank-berlin": {
          name: "Acme Rerank, Berlin only",
          offers: [{ upstream: "berlin", model: "rerank-v3.5", price: { search_unit: 0.001 } }]
        },
        "acme/whisper": {
          name: "Acme Whisper",
          offers: [
            { upstream: "openai", model: "whisper-1", price: { second: 0.006 } },
            { upstream: "groq", model: "whisper-large-v3-turbo", price: { second: 0.004 } }
          ]
        },
        "acme/veo": {
          name: "Acme Veo",
          offers: [
            { upstream: "fal", model: "fal-ai/veo3.1/fast" },
            { upstream: "runway", model: "veo3.1_fast" },
            { upstream: "replicate", model: "google/veo-3.1-fast" }
          ]
        },
        "acme/film": {
          name: "Acme Film",
          offers: [{ upstream: "studio", model: "veo3.1_fast", price: { second: 0.15 } }]
        }
      }
    },
    fal: fal.jobs,
    endBerlin: berlinAt.close,
    close: async () => {
      await Promise.all(
        [cohereAt, berlinAt, frankfurtAt, openAiAt, groqAt, fal, runway, replicate, studio].map((upstream) =>
          upstream.close()
        )
      )
    }
  }
}
