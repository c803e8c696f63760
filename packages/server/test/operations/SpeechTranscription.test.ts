// Real speech through the whole service: espeak-ng speaks, the gateway takes the upload,
// pocketsphinx transcribes it.
import { NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Response } from "@model-gateway/core/Transcription"
import * as Command from "@model-gateway/providers/Command"
import type { Model } from "@model-gateway/offers/Model"
import { Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { type SpeechPrograms, speechPrograms } from "@model-gateway/test-services/Speech"
import * as TestLedger from "../accounting/TestLedger.ts"
import { form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { temporaryFolder } from "../TestStorage.ts"

const programs = speechPrograms()

/** Nothing is started without them. */
const found: SpeechPrograms = programs ?? { espeak: "", sox: "", pocketsphinx: "" }

/** 1,440 sentences, as many as a small model tells apart in a synthetic voice. */
const grammar = `#JSGF V1.0;
grammar orders;
public <order> = <verb> <number> <thing> [ <where> ];
<verb> = open | close | send | find | delete | print;
<number> = one | two | three | four | five | six | seven | eight | nine | ten;
<thing> = windows | letters | pictures | messages | doors | files;
<where> = in the kitchen | in the office | in the garden;
`

const command = (pocketsphinx: string, grammarFile: string) =>
  pocketsphinx.endsWith("_continuous")
    ? {
        output: "text",
        command: [pocketsphinx, "-infile", "{wav}", "-jsgf", grammarFile, "-logfn", "/dev/null"]
      }
    : { output: "json", command: [pocketsphinx, "-jsgf", grammarFile, "single", "{wav}"] }

const gateway = ({ pocketsphinx, sox }: SpeechPrograms) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fileSystem = yield* FileSystem.FileSystem
      const grammarFile = `${yield* temporaryFolder}/orders.gram`
      yield* fileSystem.writeFileString(grammarFile, grammar)
      const model: Model = {
        kind: "transcription",
        publicId: "local/pocketsphinx",
        upstreamId: "en-us",
        name: "PocketSphinx",
        pricing: { unit: "second", microCredits: 50 },
        parameters: {
          // The model was trained with 16,000 samples a second. espeak-ng writes 22,050.
          convert: [sox, "{file}", "-r", "16000", "-c", "1", "-b", "16", "{wav}"],
          concurrency: 2,
          ...command(pocketsphinx, grammarFile)
        }
      }
      const offers = yield* Command.adapter.offers({ name: "local", baseUrl: "", credential: undefined }, [model])
      return layer({}, [offers])
    })
  ).pipe(Layer.provide(NodeServices.layer))

/** A sentence as WAV. */
const speak = ({ espeak }: SpeechPrograms, sentence: string) =>
  Effect.gen(function* () {
    const child = yield* ChildProcess.make(espeak, ["-v", "en-us+f3", "-s", "140", "--stdout", sentence])
    const chunks = yield* Stream.runCollect(child.stdout)
    return Buffer.concat(chunks)
  }).pipe(Effect.scoped, Effect.orDie)

const transcribe = (audio: Buffer) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    const answer = yield* ask("/api/v1/audio/transcriptions", {
      method: "POST",
      headers: formHeaders,
      body: form(
        { name: "model", value: "local/pocketsphinx" },
        { name: "file", filename: "order.wav", type: "audio/wav", value: audio }
      )
    })
    expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""])
    return Schema.decodeUnknownSync(Schema.fromJsonString(Response))(answer.text)
  })

it.live.runIf(programs !== undefined)("transcribes real speech in an upload, and charges the seconds", () =>
  Effect.gen(function* () {
    const sentences = [
      "open three windows in the kitchen",
      "send seven letters",
      "find two pictures in the office",
      "delete nine messages in the garden"
    ]
    for (const sentence of sentences) {
      const { text, usage } = yield* transcribe(yield* speak(found, sentence))
      expect(text).toBe(sentence)
      expect(usage?.seconds).toBeGreaterThan(1)
      expect(usage?.cost).toBeCloseTo((usage?.seconds ?? 0) * 0.000_05, 5)
    }
    expect(yield* TestLedger.usageOf()).toHaveLength(sentences.length)
  }).pipe(Effect.provide(gateway(found)), Effect.provide(NodeServices.layer))
)
