import { assert, describe, it } from "@effect/vitest"
import { Audio } from "@model-gateway/browser"
import { Effect } from "effect"

describe("Audio", () => {
  it("recognizes the seven formats by the media types of browsers", () => {
    const known = {
      "audio/webm;codecs=opus": "webm",
      "video/webm": "webm",
      "audio/ogg; codecs=opus": "ogg",
      "application/ogg": "ogg",
      "audio/mp4": "m4a",
      "audio/x-m4a": "m4a",
      "AUDIO/MPEG": "mp3",
      "audio/x-wav": "wav",
      "audio/vnd.wave": "wav",
      "audio/flac": "flac",
      "audio/aac": "aac"
    }
    for (const [type, format] of Object.entries(known)) assert.strictEqual(Audio.formatOfType(type), format, type)
    for (const type of ["", "audio/", "audio/midi", "text/plain", "webm"]) {
      assert.isUndefined(Audio.formatOfType(type), type)
    }
  })

  it.effect("names a Blob by its media type, and a File by its own name", () =>
    Effect.gen(function* () {
      const name = (blob: Blob, filename?: string) => Effect.map(Audio.fromBlob(blob, filename), (a) => a.filename)
      assert.strictEqual(yield* name(new Blob([], { type: "audio/webm;codecs=opus" })), "audio.webm")
      assert.strictEqual(yield* name(new File([], "talk.MP3")), "talk.mp3")
      assert.strictEqual(yield* name(new File([], "talk.v2.opus")), "talk.v2.ogg")
      assert.strictEqual(yield* name(new File([], "memo", { type: "audio/mp4" })), "memo.m4a")
      assert.strictEqual(yield* name(new Blob([]), "a.wav"), "a.wav")
      // On Windows, browsers may not know the type of .m4a files.
      assert.strictEqual(yield* name(new File([], "a.m4a", { type: "application/octet-stream" })), "a.m4a")
    })
  )

  it.effect("rejects a Blob whose name and type are not audio", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Audio.fromBlob(new Blob([])))
      assert.strictEqual(error._tag, "UnsupportedAudio")
      assert.strictEqual(
        error.message,
        "This recording is not in a format that can be transcribed. Use WAV, MP3, FLAC, M4A, OGG, WebM or AAC."
      )
    })
  )
})
