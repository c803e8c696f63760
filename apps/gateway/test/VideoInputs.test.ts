/** What callers write about a video, through the executable, at a double of fal. */
import * as Video from "@model-gateway/core/Video"
import * as VideoModels from "@model-gateway/core/VideoModels"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { startFalDouble } from "../../../packages/providers/test/support/FalDouble.mjs"
import { mp4Uri } from "../../../packages/providers/test/support/Mp4Double.mjs"
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

/** The size in the sample entry of an MP4's H.264 track. */
const sizeOf = (mp4: Buffer): string => {
  const entry = mp4.indexOf("avc1", mp4.indexOf("stsd"))
  return `${mp4.readUInt16BE(entry + 28)}x${mp4.readUInt16BE(entry + 30)}`
}

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
    const sent: unknown = JSON.parse(fal.state.requests.findLast(({ method }) => method === "POST")?.text ?? "null")
    return { first, job, sent }
  }
  /** The issues of a request that is refused before fal is called. */
  const refused = async (request: object) => {
    const before = fal.state.requests.length
    const { body, status } = await ask("/videos", { prompt: "a harbor", ...request })
    expect([status, fal.state.requests.length]).toEqual([400, before])
    return asFailure(body).error.metadata.issues
  }
  const download = async (id: string) => {
    const response = await fetch(`${gateway.origin}/api/v1/videos/${id}/content`, { headers: { authorization } })
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }
  return { ask, download, make, refused }
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

  it("upscales a given video, and charges its length [spec N37 N39]", async () => {
    const { ask, make, refused } = await start()
    const topaz = "fal/topaz/upscale/video/creative"
    const given = { type: "video_url", video_url: { url: mp4Uri(2.4) } }
    const wanted = { model: topaz, prompt: undefined, input_references: [given] }
    const made = await make({ ...wanted, creativity: 0.25, upscale_factor: 4, seed: 7 })
    expect(made.sent).toEqual({
      video_url: given.video_url.url,
      creativity: 0.25,
      upscale_factor: 4,
      target_fps: 30
    })
    // Three seconds have begun.
    expect(made.job.usage?.cost).toBe(1.5)
    expect(made.job.warnings).toEqual([`seed: ${topaz} takes no seed, so it was ignored.`])
    const [linked] = await refused({ model: topaz, input_references: [clip] })
    expect(linked?.path).toBe("input_references.0.video_url.url")
    expect(linked?.message).toContain("decides the price")
    for (const [path, more] of [
      ["duration", { duration: 5 }],
      ["resolution", { resolution: "4K" }],
      ["aspect_ratio", { aspect_ratio: "16:9" }],
      ["size", { size: "1280x720" }],
      ["generate_audio", { generate_audio: true }],
      ["upscale_factor", { upscale_factor: 5 }],
      ["creativity", { creativity: 2 }]
    ] as const) {
      expect(await refused({ ...wanted, ...more })).toMatchObject([{ path }])
    }
    expect(await refused({ model: topaz })).toMatchObject([{ path: "input_references" }])
    const { data } = asList((await ask("/videos/models")).body)
    expect(data.find(({ id }) => id === topaz)).toMatchObject({
      upscale_factor: { min: 1, max: 4 },
      supported_durations: [],
      supported_resolutions: [],
      supported_sizes: [],
      seed: false,
      default_duration: 0,
      allowed_passthrough_parameters: ["realism", "sharp", "H264_output"],
      pricing_skus: { duration_seconds: "0.5" },
      capabilities: { upscale: true, references: ["video"], max_duration: 300, prompt_optional: true }
    })
    expect((await ask(`/model/fal/${encodeURIComponent("topaz/upscale/video/creative")}`)).body).toMatchObject({
      data: { architecture: { input_modalities: ["text", "video"] } }
    })
  })

  it("upscales a title card that the sandbox made, and no other video [spec N37 N39]", async () => {
    const { ask, download, make, refused } = await start()
    const model = "sandbox/title-card-upscaler"
    const card = await make({ model: "sandbox/title-card", prompt: "Fog", duration: 1, size: "160x90", seed: 7 })
    const source = (url: string) => ({
      model,
      prompt: undefined,
      input_references: [{ type: "video_url", video_url: { url } }]
    })
    const given = await download(card.job.id)
    const wanted = source(`data:video/mp4;base64,${given.toString("base64")}`)
    const { job } = await make({ ...wanted, prompt: "More fog", creativity: 0.5, upscale_factor: 3, seed: 7 })
    expect(job.usage?.cost).toBe(0.01)
    expect(job.warnings).toEqual([
      `seed: ${model} takes no seed, so it was ignored.`,
      `prompt: ${model} takes no prompt, so it was ignored.`
    ])
    expect([sizeOf(given), sizeOf(await download(job.id))]).toEqual(["160x90", "480x270"])
    const path = "input_references.0.video_url.url"
    const only = `${model} is a sandbox model: it upscales only videos that sandbox/title-card made, unchanged`
    expect(await refused(source(mp4Uri(1)))).toEqual([{ path, message: only }])
    expect(await refused({ ...wanted, upscale_factor: 5 })).toMatchObject([{ path: "upscale_factor" }])
    expect(await refused({ ...wanted, creativity: 2 })).toMatchObject([{ path: "creativity" }])
    const { data } = asList((await ask("/videos/models")).body)
    expect(data.find(({ id }) => id === model)).toMatchObject({
      upscale_factor: { min: 1, max: 4 },
      seed: false,
      default_duration: 0,
      pricing_skus: { duration_seconds: "0.01" },
      capabilities: { upscale: true, references: ["video"], max_duration: 60, prompt_optional: true }
    })
    expect(data.find(({ id }) => id === "sandbox/title-card")?.upscale_factor).toBe(null)
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
