// The requests of the forms: what is sent, and what is not sent because the model refuses it.
import { describe, expect, it } from "vitest"
import * as Rerank from "../../src/play/rerank/request.ts"
import * as Transcription from "../../src/play/transcription/request.ts"
import * as Video from "../../src/play/video/request.ts"

describe("rerank", () => {
  it("has documents, and the rest if it is given", () => {
    const form = { ...Rerank.defaults, query: "q", top_n: "2", provider: "cohere" }
    expect(Rerank.bodyOf(form, "a/b", ["x", { text: "y" }])).toEqual({
      model: "a/b",
      query: "q",
      documents: ["x", { text: "y" }],
      top_n: 2,
      provider: { only: ["cohere"] }
    })
  })

  it("says what is missing", () => {
    const problem = (change: Partial<Rerank.RerankForm>, documents: ReadonlyArray<string>) =>
      Rerank.problemOf({ ...Rerank.defaults, ...change }, documents, undefined)
    expect(problem({ query: " " }, ["a"])).toBe("Enter a query.")
    expect(problem({}, [])).toBe("Enter at least one document.")
    expect(
      problem(
        {},
        Array.from({ length: 10_001 }, () => "a")
      )
    ).toContain("at most 10,000")
    expect(problem({ top_n: "0" }, ["a"])).toContain("whole number")
    expect(problem({}, ["a"])).toBeUndefined()
  })

  it("has the first documents in its programs, and says so", () => {
    const { note, request } = Rerank.codeOf(
      Rerank.defaults,
      Array.from({ length: 50 }, () => "a")
    )
    expect(JSON.stringify(request.json).match(/"a"/g)).toHaveLength(20)
    expect(note).toContain("the first 20 of 50")
  })
})

describe("transcription", () => {
  it("has each time as a field of its own, and JSON for preferences", () => {
    expect(Transcription.fieldsOf({ ...Transcription.defaults, language: "DE", provider: "groq" })).toEqual([
      ["model", "sandbox/tones"],
      ["response_format", "verbose_json"],
      ["timestamp_granularities[]", "segment"],
      ["timestamp_granularities[]", "word"],
      ["language", "de"],
      ["provider", '{"only":["groq"]}']
    ])
  })

  it("says what is missing", () => {
    const problem = (change: Partial<Transcription.TranscriptionForm>, size?: number) =>
      Transcription.problemOf({ ...Transcription.defaults, ...change }, size === undefined ? undefined : { size })
    expect(problem({})).toContain("Choose a file")
    expect(problem({}, 30_000_000)).toContain("30.0 MB")
    expect(problem({ language: "deu" }, 1)).toContain("two letters")
    expect(problem({ temperature: "2" }, 1)).toContain("from 0 to 1")
    expect(problem({}, 1)).toBeUndefined()
  })

  it("knows formats by the names of files", () => {
    expect(["a.WAV", "b.tar.mp3", "c.txt", "d"].map(Transcription.formatOf)).toEqual([
      "wav",
      "mp3",
      undefined,
      undefined
    ])
  })
})

describe("video", () => {
  const model: Parameters<typeof Video.fitted>[1] = {
    supported_resolutions: ["720p", "1080p"],
    supported_aspect_ratios: ["16:9"],
    supported_durations: [4, 6, 8],
    supported_frame_images: ["first_frame"],
    seed: false,
    upscale_factor: null,
    capabilities: {}
  }

  it("leaves out what the model refuses: 2K and 4K, a seed, a last frame", () => {
    const form = {
      ...Video.defaults,
      model: "a/b",
      prompt: "p",
      resolution: "4K",
      aspect_ratio: "16:9",
      duration: "5",
      seed: "7",
      generate_audio: "yes",
      first_frame: "data:image/png;base64,AA",
      last_frame: "data:image/png;base64,BB"
    }
    expect(Video.bodyOf(Video.fitted(form, model))).toEqual({
      model: "a/b",
      prompt: "p",
      aspect_ratio: "16:9",
      frame_images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" }, frame_type: "first_frame" }]
    })
    expect(Video.bodyOf(form)).toMatchObject({ resolution: "4K", duration: 5, seed: 7, generate_audio: true })
  })

  it("offers the durations that the model has", () => {
    expect(Video.durationsOf(model)).toEqual([4, 6, 8])
    const own = (max_duration: number) => ({ ...model, supported_durations: null, capabilities: { max_duration } })
    expect(Video.durationsOf(own(3))).toEqual([1, 2, 3])
    expect(Video.durationsOf(own(60))).toBeUndefined()
  })

  it("needs a prompt, or the video to upscale", () => {
    const empty = { ...Video.defaults, prompt: " " }
    expect(Video.problemOf(empty, model)).toContain("Say in the prompt")
    expect(Video.problemOf(empty, { ...model, capabilities: { prompt_optional: true } })).toBeUndefined()
    expect(Video.problemOf(empty, { ...model, capabilities: { upscale: true } })).toContain("video to upscale")
    expect(Video.problemOf({ ...Video.defaults, seed: "x" }, model)).toContain("seed")
  })

  it("leaves long images out of its programs", () => {
    const { note, request } = Video.codeOf({
      ...Video.defaults,
      first_frame: `data:image/png;base64,${"A".repeat(9000)}`
    })
    expect(JSON.stringify(request.json)).toContain("data:image/png;base64,…")
    expect(note).toContain("base64")
  })
})
