/** What callers write about a video, through the executable, at a double of fal. */
import * as Video from "@model-gateway/core/Video"
import * as VideoModels from "@model-gateway/core/VideoModels"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { startFalDouble } from "../../../packages/providers/test/support/FalDouble.mjs"
import { firstKey, folder, serve } from "./Executable.ts"

const key = "fal-secret-0123456789"

const asJob = Schema.decodeUnknownSync(Video.Job)
const asList = Schema.decodeUnknownSync(VideoModels.ListResponse)
const asFailure = Schema.decodeUnknownSync(
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.String,
      metadata: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
    })
  })
)

const veo = "fal/fal-ai/veo3.1"
const ltx = "fal/fal-ai/ltx-2.3/text-to-video"
const seedance = "fal/bytedance/seedance-2.0/reference-to-video"

const audio = { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } }
const clip = { type: "video_url", video_url: { url: "https://example.com/b.mp4" } }
const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } }

const start = async () => {
  const fal = await startFalDouble({ keys: [key] })
  onTestFinished(() => fal.close())
  const gateway = await serve(folder(), [], { FAL_KEY: key, FAL_BASE_URL: fal.url })
  const authorization = `Bearer ${await firstKey(gateway)}`
  const ask = async (path: string, body?: object) => {
    const response = await fetch(`${gateway.origin}/api/v1${path}`, {
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
    return { status: response.status, body: await response.json() }
  }
  /** Makes a video. Returns the accepted job, the finished one, and what fal was sent. */
  const make = async (request: object) => {
    const accepted = await ask("/videos", { prompt: "a harbor", ...request })
    expect(accepted).toMatchObject({ status: 202 })
    const first = asJob(accepted.body)
    let job = first
    while (!Video.isFinal(job.status)) job = asJob((await ask(`/videos/${first.id}?wait=30`)).body)
    expect(job.status).toBe("completed")
    const sent: unknown = JSON.parse(fal.state.requests.findLast(({ method }) => method === "POST")?.text ?? "")
    return { first, job, sent }
  }
  /** The issues of a request that is refused before fal is called. */
  const refused = async (request: object) => {
    const before = fal.state.requests.length
    const { body, status } = await ask("/videos", { prompt: "a harbor", ...request })
    expect([status, fal.state.requests.length]).toEqual([400, before])
    return asFailure(body).error.metadata.issues
  }
  return { ask, make, refused }
}

describe("POST /videos at a real model", { timeout: 120_000 }, () => {
  it("ignores what the provider does not take, with warnings, and forwards what it takes [spec N30 N31 N32 N33 N34]", async () => {
    const { make } = await start()
    const warnings = [
      `input_references: ${ltx} takes no audio references, so they were ignored.`,
      `input_references: ${ltx} takes no video references, so they were ignored.`,
      `seed: ${ltx} takes no seed, so it was ignored.`
    ]
    const ignoring = await make({ model: ltx, seed: 7, input_references: [audio, clip] })
    expect([ignoring.first.warnings, ignoring.job.warnings]).toEqual([warnings, warnings])
    expect(JSON.stringify(ignoring.sent)).not.toMatch(/seed|example\.com/)
    const taking = await make({ model: seedance, seed: 7, input_references: [audio, still] })
    expect(taking.job).not.toHaveProperty("warnings")
    expect(taking.sent).toMatchObject({
      seed: 7,
      image_urls: [still.image_url.url],
      audio_urls: [audio.audio_url.url]
    })
  })

  it("takes an exact size in place of resolution and aspect ratio, from the model's table [spec N20 N35 N36]", async () => {
    const { ask, make, refused } = await start()
    expect((await make({ model: ltx, size: "1440x2560" })).sent).toMatchObject({
      resolution: "1440p",
      aspect_ratio: "9:16"
    })
    const pair = await make({ model: ltx, resolution: "2K", aspect_ratio: "9:16" })
    expect(pair.sent).toMatchObject({ resolution: "1440p", aspect_ratio: "9:16" })
    expect(pair.job.usage?.cost).toBe(0.96)
    const [issue] = await refused({ model: veo, size: "640x360" })
    expect(issue?.path).toBe("size")
    expect(issue?.message).toContain("Choose 1280x720, 720x1280, 1920x1080, 1080x1920, 3840x2160 or 2160x3840.")
    expect(await refused({ model: veo, size: "1280x720", resolution: "1080p" })).toMatchObject([{ path: "size" }])
    const { data } = asList((await ask("/videos/models")).body)
    expect(data.find(({ id }) => id === ltx)).toMatchObject({
      supported_sizes: ["1920x1080", "1080x1920", "2560x1440", "1440x2560", "3840x2160", "2160x3840"],
      supported_durations: [6, 8, 10],
      supported_resolutions: ["1080p", "2K", "4K"],
      seed: false,
      capabilities: { references: [] }
    })
  })

  it("refuses two images for one frame, and images that no provider of the model takes [spec N26 N31]", async () => {
    const { refused } = await start()
    const frame = { ...still, frame_type: "first_frame" }
    const kling = "fal/fal-ai/kling-video/v2.5-turbo/pro/image-to-video"
    const [second] = await refused({ model: kling, frame_images: [frame, frame] })
    expect(second?.path).toBe("frame_images.1.frame_type")
    expect(second?.message).toContain("at most one image with first_frame")
    const [issue] = await refused({ model: veo, input_references: [still] })
    expect(issue?.path).toBe("input_references.0")
    expect(issue?.message).toContain(seedance)
  })

  it("says on a title card that its references were ignored [spec N33]", async () => {
    const { ask } = await start()
    const { body, status } = await ask("/videos", {
      model: "sandbox/title-card",
      prompt: "Dawn",
      duration: 1,
      size: "160x90",
      input_references: [still, audio]
    })
    expect(status).toBe(202)
    expect(asJob(body).warnings).toEqual([
      "input_references: sandbox/title-card takes no image references, so they were ignored.",
      "input_references: sandbox/title-card takes no audio references, so they were ignored."
    ])
  })
})
