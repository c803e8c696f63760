/** The same calls over plain HTTP and with the client, so that one test holds for both. */
import * as Rerank from "@model-gateway/core/Rerank"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Video from "@model-gateway/core/Video"
import { createClient } from "@model-gateway/node/promise"
import { Schema } from "effect"
import { onTestFinished } from "vitest"

/** A refusal is an error with `status` and `issues` either way. */
export interface Way {
  readonly rerank: (request: Rerank.Request) => Promise<Rerank.Response>
  readonly transcribe: (request: Transcription.Request) => Promise<Transcription.Response>
  readonly submitVideo: (request: Video.Request) => Promise<Video.Job>
  /** The job in its final state. */
  readonly finalVideo: (id: string) => Promise<Video.Job>
}

const asRanking = Schema.decodeUnknownSync(Rerank.Response)
const asTranscript = Schema.decodeUnknownSync(Transcription.Response)
const asJob = Schema.decodeUnknownSync(Video.Job)
const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })
const asFailure = Schema.decodeUnknownSync(
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.String,
      metadata: Schema.optionalKey(Schema.Struct({ issues: Schema.optionalKey(Schema.Array(Issue)) }))
    })
  })
)

class Refusal extends Error {
  readonly status: number
  readonly issues: ReadonlyArray<typeof Issue.Type>
  constructor(status: number, body: unknown) {
    const { error } = asFailure(body)
    super(`${status} ${error.message}`)
    this.status = status
    this.issues = error.metadata?.issues ?? []
  }
}

const overHttp = (baseUrl: string, apiKey: string): Way => {
  const ask = async (path: string, request?: object): Promise<unknown> => {
    const response = await fetch(`${baseUrl}${path}`, {
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", connection: "close" },
      ...(request === undefined ? {} : { method: "POST", body: JSON.stringify(request) })
    })
    const body: unknown = await response.json()
    if (!response.ok) throw new Refusal(response.status, body)
    return body
  }
  const finalVideo = async (id: string): Promise<Video.Job> => {
    const job = asJob(await ask(`/videos/${id}?wait=30`))
    return Video.isFinal(job.status) ? job : finalVideo(id)
  }
  return {
    rerank: async (request) => asRanking(await ask("/rerank", request)),
    transcribe: async (request) => asTranscript(await ask("/audio/transcriptions", request)),
    submitVideo: async (request) => asJob(await ask("/videos", request)),
    finalVideo
  }
}

/** Both ways to a gateway. The client is closed when the test ends. */
export const waysTo = async (origin: string, apiKey: string): Promise<ReadonlyArray<Way>> => {
  const baseUrl = `${origin}/api/v1`
  const client = await createClient({ baseUrl, apiKey })
  onTestFinished(() => client.close())
  const finalVideo = async (id: string): Promise<Video.Job> => {
    const job = await client.getVideo(id, { wait: "30 seconds" })
    return Video.isFinal(job.status) ? job : finalVideo(id)
  }
  return [overHttp(baseUrl, apiKey), { ...client, finalVideo }]
}
