/** Finished videos as a resource template, for clients that follow the links of `make_video`. */
import { Gateway } from "@model-gateway/core/Gateway"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { CurrentSession } from "./tool.ts"
import * as VideoUri from "./videoUri.ts"

/**
 * The protocol has no parts of a resource. In base64 it must fit into a message, of which clients of
 * the protocol's own SDK accept 10 MB over stdio.
 */
const maxBytes = 7 * 1024 * 1024

const id = McpSchema.param("id", Schema.NonEmptyString)
const index = McpSchema.param("index", Schema.FiniteFromString)

class TooLarge extends Data.TaggedError("TooLarge")<{ readonly message: string }> {}

const tooLarge = new TooLarge({
  message: `The video has more than ${maxBytes} bytes. Download it from the gateway: GET /videos/{id}/content.`
})

const download = Effect.fnUntraced(function* (id: string, index: number) {
  const gateway = yield* Gateway
  const chunks: Array<Uint8Array> = []
  let length = 0
  yield* Stream.runForEach(gateway.videoContent(id, { index }), (chunk) => {
    length += chunk.byteLength
    chunks.push(chunk)
    return length > maxBytes ? Effect.fail(tooLarge) : Effect.void
  })
  return new Uint8Array(Buffer.concat(chunks))
})

/** The template `model-gateway://videos/{id}/{index}`. */
export const layer = (session: CurrentSession): Layer.Layer<never, never, McpServer.McpServer> =>
  McpServer.resource`model-gateway://videos/${id}/${index}`({
    name: "video",
    description: "A finished video of make_video",
    mimeType: VideoUri.mimeType,
    content: (uri, job, index) =>
      Effect.flatMap(session, ({ gateway }) => Effect.provideContext(download(job, index), gateway)).pipe(
        Effect.map((blob) => ({ contents: [{ uri, mimeType: VideoUri.mimeType, blob }] }))
      )
  })
