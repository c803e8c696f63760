import { ListResponse } from "@model-gateway/core/Generations"
import { Response } from "@model-gateway/core/Transcription"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Queue, Schema } from "effect"
import { connect } from "node:net"
import * as ProcessFolder from "../../src/objects/ProcessFolder.ts"
import { form, formHeaders, layer, type Part, TestGateway } from "../TestGateway.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { scripted } from "../TestProvider.ts"
import { keypad } from "./TestAudio.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const path = "/api/v1/audio/transcriptions"

const audio = keypad("1259")

const request = { model: "sandbox/tones", input_audio: { data: audio.toString("base64"), format: "wav" } }

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))
const decodeLog = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))

const file: Part = { name: "file", filename: "tones.wav", type: "audio/wav", value: audio }

/** Silent audio in a file of this many bytes. */
const silence = (bytes: number): Buffer => {
  const whole = Buffer.alloc(bytes)
  audio.copy(whole, 0, 0, 44)
  whole.writeUInt32LE(bytes - 8, 4)
  whole.writeUInt32LE(bytes - 44, 40)
  return whole
}

const model: Part = { name: "model", value: "sandbox/tones" }

const upload = (...parts: ReadonlyArray<Part>) =>
  Effect.flatMap(TestGateway, ({ ask }) => ask(path, { method: "POST", headers: formHeaders, body: form(...parts) }))

/** What of uploads lies beside the data now. */
const uploads = Effect.gen(function* () {
  const { folder } = yield* TestGateway
  const fileSystem = yield* FileSystem.FileSystem
  const [own] = yield* fileSystem.readDirectory(`${folder}/uploads`)
  const entries = yield* fileSystem.readDirectory(`${folder}/uploads/${own}`)
  return entries.filter((entry) => entry !== ProcessFolder.lockName)
})

/** Nothing is left of an upload after its request, which ends shortly after its response. */
const noUploads = Effect.repeat(uploads, { until: (entries) => entries.length === 0 })

it.layer(layer({ bodyLimits: { transcription: 60_000, transcriptionFile: 40_000 } }), { excludeTestServices: true })(
  "POST /audio/transcriptions",
  (it) => {
    it.effect("transcribes the keys and charges the seconds [spec F1 F3 F6 M1 M8 M9]", () =>
      Effect.gen(function* () {
        const answer = yield* post(path, request)
        expect(answer.status).toBe(200)
        expect(JSON.parse(answer.text)).toEqual({ text: "1259", usage: { cost: 0.00008, seconds: 0.8 } })
        const [row] = yield* TestLedger.usageOf()
        expect(row).toMatchObject({ operation: "transcription", cost: 80, reserved: 80, usage: { seconds: 0.8 } })
      })
    )

    it.effect("answers times with verbose_json, of words only when asked [spec F8 F10 F11 M10 M16 M17 M18]", () =>
      Effect.gen(function* () {
        const verbose = decode(
          (yield* post(path, { ...request, response_format: "verbose_json", language: "EN" })).text
        )
        expect(verbose).toMatchObject({ text: "1259", task: "transcribe", language: "en", duration: 0.8 })
        expect(verbose.segments?.map(({ text }) => text)).toEqual(["1259"])
        expect(verbose.words).toBeUndefined()
        const words = decode(
          (yield* post(path, { ...request, response_format: "verbose_json", timestamp_granularities: ["word"] })).text
        )
        expect(words.words?.map(({ word }) => word)).toEqual(["1", "2", "5", "9"])
        const plain = decode((yield* post(path, { ...request, timestamp_granularities: ["word"] })).text)
        expect(Object.keys(plain).toSorted()).toEqual(["text", "usage"])
      })
    )

    it.effect("takes a form, its fields in any order, and leaves nothing of the file behind [spec A4 M2]", () =>
      Effect.gen(function* () {
        const fields: ReadonlyArray<Part> = [
          { name: "response_format", value: "verbose_json" },
          { name: "timestamp_granularities[]", value: "word" },
          { name: "timestamp_granularities[]", value: "segment" },
          { name: "temperature", value: "0.5" },
          { name: "provider", value: '{"only":["sandbox"]}' },
          { name: "trace", value: '{"trace_id":"t","tenant":7}' },
          { name: "user", value: "somebody" }
        ]
        for (const parts of [
          [file, model, ...fields],
          [...fields, model, file]
        ]) {
          const answer = yield* upload(...parts)
          expect(answer.status).toBe(200)
          expect(decode(answer.text).words).toHaveLength(4)
        }
        const one = yield* upload(model, file, { name: "timestamp_granularities[]", value: "word" })
        expect(JSON.parse(one.text)).toEqual({ text: "1259", usage: { cost: 0.00008, seconds: 0.8 } })
        yield* noUploads
      })
    )

    it.effect("lists what is wrong with either form", () =>
      Effect.gen(function* () {
        const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
          [{}, ["input_audio", "model"]],
          [{ ...request, input_audio: {} }, ["input_audio.data", "input_audio.format"]],
          [{ ...request, input_audio: { data: "", format: "mid" } }, ["input_audio.data", "input_audio.format"]],
          [{ ...request, input_audio: { data: "not base64!", format: "wav" } }, ["input_audio.data"]],
          [{ ...request, input_audio: { data: "QUJ", format: "wav" } }, ["input_audio.data"]],
          [{ ...request, input_audio: { data: "bm8gYXVkaW8gYXQgYWxs", format: "wav" } }, ["input_audio.data"]],
          [{ ...request, input_audio: { ...request.input_audio, format: "mp3" } }, ["input_audio.format"]],
          [
            { ...request, temperature: 1.1, language: "eng", response_format: "srt", timestamp_granularities: ["day"] },
            ["language", "response_format", "temperature", "timestamp_granularities.0"]
          ]
        ]
        for (const [body, paths] of cases) {
          const answer = yield* post(path, body)
          expect([answer.status, [...new Set(issuePaths(answer))].toSorted()]).toEqual([400, paths])
        }
        const forms: ReadonlyArray<readonly [ReadonlyArray<Part>, ReadonlyArray<string>]> = [
          [[model], ["file"]],
          [[file], ["model"]],
          [[model, { ...file, value: "" }], ["file"]],
          [[model, { ...file, value: "no audio at all" }], ["file"]],
          [[model, file, { ...file, filename: "again.wav" }], ["file"]],
          [[model, file, { name: "temperature", value: "warm" }], ["temperature"]],
          [[model, file, { name: "provider", value: "{" }], ["provider"]],
          [[model, file, { name: "provider", value: '{"sort":"luck"}' }], ["provider.sort"]]
        ]
        for (const [parts, paths] of forms) {
          const answer = yield* upload(...parts)
          expect([answer.status, [...new Set(issuePaths(answer))]]).toEqual([400, paths])
        }
        for (const parts of [
          [model, file, file],
          [model, { name: "file", value: "no file" }]
        ]) {
          expect(envelopeOf(yield* upload(...parts)).error.message).toContain("file: Expected one file")
        }
        yield* noUploads
      })
    )

    it.effect("refuses a form that is cut short, and one of another type", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const whole = form(model, file)
        for (const length of [whole.length - 20, 300, 10]) {
          const cut = yield* ask(path, { method: "POST", headers: formHeaders, body: whole.subarray(0, length) })
          expect([length, cut.status]).toEqual([length, 400])
          inSet("transcribe", cut)
        }
        const nameless = yield* ask(path, {
          method: "POST",
          headers: { "content-type": "multipart/form-data" },
          body: whole
        })
        expect(nameless.status).toBe(400)
        const text = yield* ask(path, { method: "POST", headers: { "content-type": "text/plain" }, body: "hello" })
        expect([text.status, issuePaths(text)]).toEqual([400, ["content-type"]])
        yield* noUploads
      })
    )

    it.effect("refuses what is too large, in either form", () =>
      Effect.gen(function* () {
        const json = yield* post(path, { ...request, input_audio: { data: "A".repeat(70_000), format: "wav" } })
        expect(json.status).toBe(413)
        inSet("transcribe", json)
        const form = yield* upload(model, { ...file, value: Buffer.alloc(50_000) })
        expect(form.status).toBe(413)
        inSet("transcribe", form)
        yield* noUploads
      })
    )

    it.effect("takes a file of exactly the limit, and none of a byte more, however long its part's headers are", () =>
      Effect.gen(function* () {
        for (const name of ["a.wav", `${"a".repeat(15_000)}.wav`]) {
          const at = yield* upload(model, { ...file, filename: name, value: silence(40_000) })
          expect([name.length, at.status]).toEqual([name.length, 200])
          const over = yield* upload(model, { ...file, filename: name, value: silence(40_001) })
          inSet("transcribe", over)
          expect([name.length, over.status, envelopeOf(over).error.message]).toEqual([
            name.length,
            413,
            "request payload too large: at most 40000 bytes are accepted"
          ])
        }
        yield* noUploads
      })
    )

    it.effect("answers with the status that a sandbox model stands for", () =>
      Effect.gen(function* () {
        for (const status of [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529]) {
          const answer = yield* post(path, { ...request, model: `sandbox/status-${status}` })
          expect(answer.status).toBe(status)
          inSet("transcribe", answer)
        }
      })
    )

    it.effect("tells two forms with the same idempotency key apart by the file", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const send = (value: Buffer) =>
          ask(path, {
            method: "POST",
            headers: { ...formHeaders, "idempotency-key": "one" },
            body: form(model, { ...file, value })
          })
        const first = yield* send(audio)
        const again = yield* send(audio)
        expect([again.status, again.text, again.headers["idempotent-replayed"]]).toEqual([200, first.text, "true"])
        const other = yield* send(keypad("3"))
        expect([other.status, issuePaths(other)]).toEqual([400, ["idempotency-key"]])
      })
    )

    it.effect("leaves nothing when the caller hangs up in the middle of the upload", () =>
      Effect.gen(function* () {
        const { ordinaryKey, port } = yield* TestGateway
        const socket = connect(port, "127.0.0.1")
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\ncontent-type: ${formHeaders["content-type"]}\r\ncontent-length: 30000\r\n\r\n`
        )
        socket.write(form(model, file).subarray(0, 2000))
        yield* Effect.repeat(uploads, { until: (entries) => entries.length === 1 })
        socket.destroy()
        yield* noUploads
      })
    )
  }
)

const seen: Array<TranscriptionRequest> = []

it.layer(
  layer({ deadlines: { transcriptionAttempt: Duration.millis(50), transcription: Duration.millis(120) } }, [
    scripted({ name: "hanging", transcribe: () => Effect.never }),
    scripted({
      name: "plain",
      verbose: false,
      transcribe: (request) => {
        seen.push(request)
        return Effect.succeed({
          text: "heard",
          duration: 0.8,
          segments: [],
          usage: { input_tokens: 3, output_tokens: 1 }
        })
      }
    }),
    scripted({
      name: "minimal",
      transcribe: () => Effect.succeed({ text: "short", duration: 0.8, segments: [], usage: { billed_seconds: 10 } })
    }),
    scripted({ name: "asleep", transcribe: () => Effect.never }),
    scripted({ name: "dead", transcribe: () => Effect.never })
  ]),
  { excludeTestServices: true }
)("an upstream", (it) => {
  const asking = (provider: unknown, more?: object) => ({ ...request, model: "test/hear", provider, ...more })

  it.effect("that does not answer in time is fallen back from", () =>
    Effect.gen(function* () {
      const answer = yield* post(
        path,
        asking(
          { order: ["hanging", "plain"], options: { plain: { mode: "fast" }, hanging: { secret: 1 } } },
          { user: "me" }
        )
      )
      expect(answer.status).toBe(200)
      expect(decode(answer.text).usage).toMatchObject({ input_tokens: 3, output_tokens: 1, total_tokens: 4 })
      expect(seen.at(-1)?.options).toEqual({ mode: "fast" })
      expect(JSON.stringify(seen.at(-1))).not.toContain('"me"')
    })
  )

  it.effect("that bills more than the length of the audio shows it in the request log only", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, asking({ only: ["minimal"] }))
      const { usage } = decode(answer.text)
      expect([usage?.seconds, Object.keys(usage ?? {}).toSorted()]).toEqual([0.8, ["cost", "seconds"]])
      const { ask, managementKey } = yield* TestGateway
      const log = yield* ask("/api/v1/generations?provider=minimal", { key: managementKey })
      const [entry] = decodeLog(log.text).data
      expect(entry?.usage).toEqual({ seconds: 0.8, billed_seconds: 10 })
    })
  )

  it.effect("that never answers is a 524, and the service's own deadline a 504 [spec R504]", () =>
    Effect.gen(function* () {
      const one = yield* post(path, asking({ only: ["hanging"] }))
      expect([one.status, envelopeOf(one).error.metadata?.["attempts"]]).toMatchObject([
        524,
        [{ provider: "hanging", outcome: "Timeout" }]
      ])
      const all = yield* post(path, asking({ ignore: ["plain", "minimal"] }))
      expect([all.status, envelopeOf(all).error.message]).toEqual([504, "the operation was aborted due to timeout"])
      expect(yield* TestLedger.openReservations).toEqual([])
    })
  )

  it.effect("that cannot time is left out when times are asked for [spec M11]", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, asking({ only: ["plain"] }, { response_format: "verbose_json" }))
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["response_format"]])
    })
  )
})

it.layer(
  layer({}, [
    scripted({
      name: "full",
      transcribe: () =>
        Effect.succeed({
          text: "hallo",
          duration: 0.8,
          language: "german",
          segments: [{ id: 0, start: 0, end: 0.8, text: "hallo" }],
          words: [{ word: "hallo", start: 0, end: 0.8 }]
        })
    }),
    scripted({
      name: "sparse",
      transcribe: () => Effect.succeed({ text: "hallo", duration: 0.8, segments: [] })
    })
  ]),
  { excludeTestServices: true }
)("a transcript", (it) => {
  it.effect(
    "has language and words only with verbose_json, and words only if the provider returns them [spec F9 F12]",
    () =>
      Effect.gen(function* () {
        const fieldsOf = Effect.fnUntraced(function* (provider: string, more: object) {
          const provided = { ...request, model: "test/hear", provider: { only: [provider] }, ...more }
          const { language, words } = decode((yield* post(path, provided)).text)
          return { language, words: words?.map(({ word }) => word) }
        })
        const verbose = { response_format: "verbose_json", timestamp_granularities: ["word"] }
        // Detected, and forced.
        expect(yield* fieldsOf("full", verbose)).toEqual({ language: "de", words: ["hallo"] })
        expect(yield* fieldsOf("sparse", { ...verbose, language: "fr" })).toEqual({ language: "fr", words: undefined })
        expect(yield* fieldsOf("sparse", verbose)).toEqual({ language: undefined, words: undefined })
        const segments = { ...verbose, timestamp_granularities: ["segment"] }
        expect(yield* fieldsOf("full", segments)).toEqual({ language: "de", words: undefined })
        expect(yield* fieldsOf("full", { ...verbose, language: "de", response_format: "json" })).toEqual({
          language: undefined,
          words: undefined
        })
      })
  )
})

it.layer(layer(), { excludeTestServices: true })("POST /audio/transcriptions with the default limits", (it) => {
  const newKey = (limit: number) =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const { text } = yield* post("/api/v1/keys", { name: "n", limit }, { key: managementKey })
      return Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ key: Schema.String })))(text).key
    })

  it.effect("reads base64 wherever it stands in the body and however it is escaped [spec M3]", () =>
    Effect.gen(function* () {
      const data = audio.toString("base64").replaceAll("/", "\\/")
      const bodies = [
        `{"input_audio":{"data":"${data}","format":"wav"},"model":"sandbox/tones"}`,
        `{"input_audio":{"data":"QUJD","data":"${data}","format":"wav"},"model":"sandbox/tones"}`,
        `{"input_audio":{"d\\u0061ta":"${data}","format":"wav"},"model":"sandbox/tones","padding":"${"x".repeat(200_000)}"}`
      ]
      for (const body of bodies) expect(decode((yield* post(path, body)).text).text).toBe("1259")
      yield* noUploads
    })
  )

  it.effect("accepts at most 1 MiB of JSON besides the audio", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, { ...request, padding: "x".repeat(1_048_576) })
      inSet("transcribe", answer)
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([
        413,
        "request payload too large: at most 1 MiB is accepted besides the audio"
      ])
      yield* noUploads
    })
  )

  it.effect("counts the items of JSON in the fields of a form before it decodes them", () =>
    Effect.gen(function* () {
      const order = `{"order":[${"1,".repeat(20_000)}1]}`
      const answer = yield* upload(model, file, { name: "provider", value: order })
      expect([answer.status, envelopeOf(answer).error.metadata?.["issues"]]).toEqual([
        400,
        [{ path: "provider.order", message: "Expected at most 64 items" }]
      ])
      const deep = yield* upload(model, file, { name: "trace", value: "[".repeat(500) })
      expect([deep.status, issuePaths(deep)]).toEqual([400, ["trace"]])
    })
  )

  it.effect("does not look into the audio of a key that has nothing left to spend", () =>
    Effect.gen(function* () {
      const key = yield* newKey(0)
      const noAudio = { ...request, input_audio: { data: "AAAA", format: "wav" } }
      expect((yield* post(path, noAudio)).status).toBe(400)
      expect((yield* post(path, noAudio, { key })).status).toBe(402)
    })
  )

  it.effect("repeats an answer that was paid for with the last credits", () =>
    Effect.gen(function* () {
      const { usage } = decode((yield* post(path, request)).text)
      const key = yield* newKey(usage?.cost ?? 0)
      const headers = { "idempotency-key": "with the last credits" }
      const first = yield* post(path, request, { key, headers })
      expect(first.status).toBe(200)
      const again = yield* post(path, request, { key, headers })
      expect([again.status, again.text, again.headers["idempotent-replayed"]]).toEqual([200, first.text, "true"])
      expect((yield* post(path, request, { key })).status).toBe(402)
    })
  )

  it.effect("answers a key while another key's audio takes long to look through", () =>
    Effect.gen(function* () {
      const busy = yield* newKey(1)
      // Every position looks like the start of a frame. The parser is stopped after one second, so
      // the four files take four.
      const slow = Buffer.concat([
        Buffer.from("fLaC\0\0\0\x22", "latin1"),
        Buffer.alloc(34),
        Buffer.alloc(25_000, "\xff\xf8", "latin1")
      ])
      const asked = { ...request, input_audio: { data: slow.toString("base64"), format: "flac" } }
      const answers = yield* Queue.unbounded<number>()
      yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 4 }),
          () => Effect.flatMap(post(path, asked, { key: busy }), ({ status }) => Queue.offer(answers, status)),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      yield* Effect.repeat(uploads, { until: (entries) => entries.length === 4 })
      expect((yield* post(path, request)).status).toBe(200)
      expect(yield* Queue.size(answers)).toBeLessThan(4)
      expect(yield* Queue.takeN(answers, 4)).toEqual([400, 400, 400, 400])
    })
  )

  it.effect("takes a file of 25 MiB and none of a byte more", () =>
    Effect.gen(function* () {
      const limit = 25 * 1024 * 1024
      const at = yield* upload(model, { ...file, value: silence(limit) })
      expect([at.status, decode(at.text).usage?.seconds]).toEqual([200, (limit - 44) / 16_000])
      const over = yield* upload(model, { ...file, value: silence(limit + 1) })
      inSet("transcribe", over)
      expect([over.status, envelopeOf(over).error.message]).toEqual([
        413,
        "request payload too large: at most 25 MiB are accepted"
      ])
      yield* noUploads
    })
  )
})
