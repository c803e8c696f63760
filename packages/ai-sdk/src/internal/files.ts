/** The files that the gateway stores. */
import {
  type FilesV4,
  type FilesV4UploadFileCallOptions,
  NoSuchProviderReferenceError,
  type SharedV4ProviderReference,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import * as Files from "@model-gateway/core/Files"
import type { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Exchange } from "./exchange.ts"
import * as Options from "./options.ts"
import { toReadable } from "./readable.ts"
import type { Runner } from "./runner.ts"
import { bytesOf } from "./transcription.ts"

/** The client sends bytes. The SDK expects a refusal of streams that are not sent as such. */
const contentOf = (data: FilesV4UploadFileCallOptions["data"]): Effect.Effect<Uint8Array | string, Error> => {
  switch (data.type) {
    case "text":
      return Effect.succeed(data.text)
    case "data":
      return bytesOf(data.data, "data")
    case "stream":
      return Effect.fail(new UnsupportedFunctionalityError({ functionality: "upload of a stream" }))
  }
}

const idOf = (reference: SharedV4ProviderReference): Effect.Effect<string, Error> => {
  const id = reference[Options.name]
  return id === undefined
    ? Effect.fail(new NoSuchProviderReferenceError({ provider: Options.name, reference }))
    : Effect.succeed(id)
}

const referenceOf = (id: string): SharedV4ProviderReference => ({ [Options.name]: id })

const described = (file: Files.File, exchange: Exchange) => ({
  providerReference: referenceOf(file.id),
  mediaType: file.mime_type,
  filename: file.filename,
  byteSize: file.size_bytes,
  createdAt: new Date(file.created_at),
  providerMetadata: {
    [Options.name]: {
      requestId: Options.requestIdOf(exchange),
      purpose: file.purpose,
      workspaceId: file.workspace_id
    }
  },
  warnings: []
})

/** The SDK does not retry these calls. The client does, by its own policy. */
export const make = ({ run }: Runner): FilesV4 => {
  const callOf = (
    path: string,
    { abortSignal, headers }: Pick<FilesV4UploadFileCallOptions, "abortSignal" | "headers">
  ) => ({ path, modelId: undefined, abortSignal, headers })

  return {
    specificationVersion: "v4",
    provider: `${Options.name}.files`,

    uploadFile: (options) =>
      run(
        callOf(Files.uploadFileOperation.path, options),
        Effect.fnUntraced(function* (exchange) {
          const { purpose } = Options.own(options.providerOptions)
          const content = yield* contentOf(options.data)
          const file = yield* Files.uploadFile(
            {
              file: new Blob([typeof content === "string" ? content : new Uint8Array(content)], {
                type: options.mediaType
              }),
              filename: options.filename,
              purpose: typeof purpose === "string" ? purpose : undefined
            },
            { idempotencyKey: exchange.idempotencyKey }
          )
          return described(file, exchange)
        })
      ),

    getFileMetadata: (options) =>
      run(callOf(Files.getFileOperation.path, options), (exchange) =>
        Effect.map(
          Effect.flatMap(idOf(options.file), (id) => Files.getFile(id)),
          (file) => described(file, exchange)
        )
      ),

    downloadFile: (options) =>
      run(
        callOf(Files.fileContentOperation.path, options),
        Effect.fnUntraced(function* (exchange, explain) {
          const id = yield* idOf(options.file)
          // A file that does not exist rejects the call, not a stream that nobody reads yet.
          const { mime_type } = yield* Files.getFile(id)
          const content = Files.fileContent(id).pipe(
            Stream.mapError(explain),
            Stream.provideContext(yield* Effect.context<GatewayClient>())
          )
          return {
            content: toReadable(content, options.abortSignal),
            mediaType: mime_type,
            providerMetadata: { [Options.name]: { requestId: Options.requestIdOf(exchange) } },
            warnings: []
          }
        })
      ),

    deleteFile: (options) =>
      run(
        callOf(Files.deleteFileOperation.path, options),
        Effect.fnUntraced(function* (exchange) {
          const id = yield* idOf(options.file)
          yield* Files.deleteFile(id)
          return {
            providerReference: referenceOf(id),
            deleted: true,
            providerMetadata: { [Options.name]: { requestId: Options.requestIdOf(exchange) } },
            warnings: []
          }
        })
      )
  }
}
