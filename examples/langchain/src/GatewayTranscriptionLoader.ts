/** Loads what is said in an audio file, a Blob or at a URL as documents of LangChain. */
import { BaseDocumentLoader } from "@langchain/core/document_loaders/base"
import { Document } from "@langchain/core/documents"
import type * as Transcription from "@model-gateway/core/Transcription"
import type { Client } from "@model-gateway/node/promise"
import { openAsBlob } from "node:fs"
import { basename } from "node:path"
import { chargedOnce, fingerprintOf } from "./chargedOnce.ts"

export interface TranscriptionSettings extends Omit<
  Transcription.Input,
  "file" | "filename" | "input_audio" | "response_format"
> {
  /**
   * `transcript`: one document, with all segments in its metadata. `segment`: one document for each
   * segment, with its `start` and `end` in seconds. Vector stores that allow only plain values in
   * metadata need this one. Default: `transcript`.
   */
  readonly by?: "transcript" | "segment"
  /** The name of the audio, whose extension tells its format. Default: that of the source. */
  readonly filename?: string
  /** Ends the download of the audio, and the request. */
  readonly signal?: AbortSignal
}

export class GatewayTranscriptionLoader extends BaseDocumentLoader {
  readonly #gateway: Pick<Client, "transcribe">
  readonly #source: string | URL | Blob
  readonly #settings: TranscriptionSettings

  /**
   * `source` is the path of a file, a URL or a Blob. Give it only URLs that you trust: this program
   * downloads them.
   */
  constructor(gateway: Pick<Client, "transcribe">, source: string | URL | Blob, settings: TranscriptionSettings) {
    super()
    this.#gateway = gateway
    this.#source = source
    this.#settings = settings
  }

  override async load(): Promise<Array<Document>> {
    const { by = "transcript", filename, signal, ...settings } = this.#settings
    const audio = await open(this.#source, signal)
    const request = { ...settings, response_format: "verbose_json", filename: filename ?? audio.name } as const
    const {
      segments = [],
      text,
      words,
      ...transcript
    } = await chargedOnce(await fingerprintOf(request, audio.blob), (idempotencyKey) =>
      this.#gateway.transcribe({ ...request, file: audio.blob }, { idempotencyKey, signal })
    )
    const metadata = { source: audio.source, model: settings.model, ...transcript }
    return by === "segment" && segments.length > 0
      ? segments.map(({ text: pageContent = "", ...segment }) => {
          const { language, source } = metadata
          return new Document({ pageContent, metadata: { source, language, ...segment } })
        })
      : [new Document({ pageContent: text, metadata: { ...metadata, segments, ...(words && { words }) } })]
  }
}

interface Audio {
  readonly blob: Blob
  readonly name: string | undefined
  /** What the documents name as their source. */
  readonly source: string
}

const open = async (source: string | URL | Blob, signal: AbortSignal | undefined): Promise<Audio> => {
  if (source instanceof Blob) {
    const name = source instanceof File ? source.name : undefined
    return { blob: source, name, source: name ?? "blob" }
  }
  if (typeof source === "string") {
    // Not read into memory, but while it is sent.
    return { blob: await openAsBlob(source), name: basename(source), source }
  }
  const response = await fetch(source, { signal: signal ?? null })
  if (!response.ok) throw new Error(`${source.href} responded with ${response.status}`)
  return { blob: await response.blob(), name: basename(source.pathname), source: source.href }
}
