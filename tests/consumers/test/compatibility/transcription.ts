import { DtmfTone } from "@model-gateway/sandbox"
import { toFile } from "openai"
import { expect } from "vitest"
import { aNumber, type Entry, failureOf } from "./Entry.ts"

const model = "sandbox/tones"
const said = "5550199"
const audio = () => DtmfTone.wav("555 0199")
const inBase64 = () => ({ data: Buffer.from(audio()).toString("base64"), format: "wav" })
const withoutSpaces = (text: string) => text.replaceAll(" ", "")

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "stt.createTranscription",
    expectation: "works",
    run: async ({ clients }) => {
      const { text, usage } = await clients.openrouter.stt.createTranscription({
        sttRequest: { model, inputAudio: inBase64(), language: "en", temperature: 0 }
      })
      expect(withoutSpaces(text)).toBe(said)
      expect(usage).toMatchObject({ cost: aNumber, seconds: aNumber })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "stt.createTranscription: words and segments",
    expectation: "works",
    run: async ({ clients }) => {
      const transcript = await clients.openrouter.stt.createTranscription({
        sttRequest: {
          model,
          inputAudio: inBase64(),
          responseFormat: "verbose_json",
          timestampGranularities: ["word", "segment"]
        }
      })
      expect(transcript).toMatchObject({
        task: "transcribe",
        language: "zxx",
        duration: aNumber,
        segments: [{ id: 0, start: aNumber, end: aNumber }, { id: 1 }]
      })
      expect(transcript.words?.map(({ word }) => word).join("")).toBe(said)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "stt.createTranscriptionMultipart",
    expectation: "works",
    run: async ({ clients }) => {
      const { text } = await clients.openrouter.stt.createTranscriptionMultipart({
        requestBody: {
          model,
          file: { fileName: "call.wav", content: audio() },
          responseFormat: "verbose_json",
          timestampGranularities: ["word"],
          user: "user-1"
        }
      })
      expect(withoutSpaces(text)).toBe(said)
    }
  },
  {
    client: "openai",
    call: "audio.transcriptions.create",
    expectation: "works",
    run: async ({ clients }) => {
      const { text } = await clients.openai.audio.transcriptions.create({
        model,
        file: await toFile(audio(), "call.wav")
      })
      expect(withoutSpaces(text)).toBe(said)
    }
  },
  {
    client: "openai",
    call: "audio.transcriptions.create: verbose_json with words",
    expectation: "works",
    run: async ({ clients }) => {
      const transcript = await clients.openai.audio.transcriptions.create({
        model,
        file: await toFile(audio(), "call.wav"),
        language: "en",
        temperature: 0,
        response_format: "verbose_json",
        timestamp_granularities: ["word", "segment"]
      })
      expect(transcript).toMatchObject({
        language: "en",
        duration: aNumber,
        segments: [{ id: 0 }, { id: 1 }]
      })
      expect(transcript.words?.map(({ word }) => word).join("")).toBe(said)
    }
  },
  {
    client: "openai",
    call: "audio.transcriptions.create: text, srt or vtt",
    expectation: { differs: "400: `response_format` is `json` or `verbose_json`" },
    run: async ({ clients }) => {
      const error = await failureOf(
        clients.openai.audio.transcriptions.create({
          model,
          file: await toFile(audio(), "call.wav"),
          response_format: "srt"
        })
      )
      expect(error).toMatchObject({ status: 400, error: { metadata: { issues: [{ path: "response_format" }] } } })
    }
  },
  {
    client: "openai",
    call: "audio.transcriptions.create: stream",
    expectation: { differs: "the whole transcript arrives as JSON, so the stream has no events" },
    run: async ({ clients }) => {
      const events = await clients.openai.audio.transcriptions.create({
        model,
        file: await toFile(audio(), "call.wav"),
        stream: true
      })
      const seen: Array<unknown> = []
      for await (const event of events) seen.push(event)
      expect(seen).toEqual([])
    }
  },
  {
    client: "cohere-ai",
    call: "audio.transcriptions.create",
    expectation: { differs: "404: use POST `/audio/transcriptions`; only Cohere's rerank paths are here" },
    run: async ({ clients }) => {
      const error = await failureOf(
        clients.cohere.audio.transcriptions.create(Buffer.from(audio()), { model, language: "en" })
      )
      expect(error).toMatchObject({ name: "NotFoundError", statusCode: 404 })
    }
  }
]
