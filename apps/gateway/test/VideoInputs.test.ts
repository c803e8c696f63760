/**
 * What callers write about a video, through the executable, at a double of fal: over plain HTTP,
 * and with the client.
 */
import type * as Video from "@model-gateway/core/Video"
import * as VideoModels from "@model-gateway/core/VideoModels"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { mp4Uri } from "@model-gateway/test-doubles/Mp4Double"
import { firstKey, folder, serve, shared } from "./Executable.ts"
import { type Way, waysTo } from "./Ways.ts"

const key = "fal-secret-0123456789"

const asList = Schema.decodeUnknownSync(VideoModels.ListResponse)

const veo = "fal/fal-ai/veo3.1"
const ltx = "fal/fal-ai/ltx-2.3/text-to-video"
const hailuo = "fal/fal-ai/minimax/hailuo-02/standard/image-to-video"
const hailuo3 = "fal/minimax/h3/text-to-video"
const seedance = "fal/bytedance/seedance-2.0/reference-to-video"

const audio = { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } } as const
const clip = { type: "video_url", video_url: { url: "https://example.com/b.mp4" } } as const
const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const

/** The size in the sample entry of an MP4's H.264 track. */
const sizeOf = (mp4: Buffer): string => {
  const entry = mp4.indexOf("avc1", mp4.indexOf("stsd"))
  return `${mp4.readUInt16BE(entry + 28)}x${mp4.readUInt16BE(entry + 30)}`
}

const started = shared(async (atEnd) => {
  const fal = await startFalDouble({ keys: [key] })
  atEnd(() => fal.close())
  const environment = { FAL_KEY: key, FAL_BASE_URL: fal.url }
  const gateway = await serve(folder(atEnd), ["--initial-credits", "100"], environment, { atEnd })
  return { fal, gateway, apiKey: await firstKey(gateway) }
})

const connect = async () => {
  const { apiKey, fal, gateway } = started()
  const get = (path: string) =>
    fetch(`${gateway.origin}/api/v1${path}`, { headers: { authorization: `Bearer ${apiKey}` } })
  const videoModels = async () => asList(await (await get("/videos/models")).json()).data
  const download = async (id: string) => {
    const response = await get(`/videos/${id}/content`)
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }
  const callsOf = (way: Way) => ({
    /** Makes a video. Returns the accepted job, the finished one, and what fal was sent. */
    make: async (request: Video.Request) => {
      const first = await way.submitVideo({ prompt: "a harbor", ...request })
      const job = await way.finalVideo(first.id)
      expect(job.status).toBe("completed")
      const sent: unknown = JSON.parse(fal.state.requests.findLast(({ method }) => method === "POST")?.text ?? "null")
      return { first, job, sent }
    },
    /**
     * Expects that a request is refused for one field before fal is called. Returns the message.
     */
    refused: async (request: Video.Request, path: string) => {
      const before = fal.state.requests.length
      const refusal: unknown = await way.submitVideo({ prompt: "a harbor", ...request }).then(
        () => expect.fail(`${path} was accepted`),
        (error: unknown) => error
      )
      expect(refusal).toMatchObject({ status: 400, issues: [{ path }] })
      expect(fal.state.requests.length).toBe(before)
      return String(refusal)
    }
  })
  return { both: (await waysTo(gateway.origin, apiKey)).map(callsOf), download, get, videoModels }
}

describe("POST /videos at a real model", { timeout: 120_000 }, () => {
  it("ignores what the provider does not take, with warnings, and forwards what it takes [spec N30 N31 N32 N33 N34]", async () => {
    const { both } = await connect()
    const warnings = [
      `input_references: ${ltx} takes no audio references, so they were ignored.`,
      `input_references: ${ltx} takes no video references, so they were ignored.`,
      `seed: ${ltx} takes no seed, so it was ignored.`
    ]
    for (const { make } of both) {
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
    }
  })

  it("takes an exact size in place of resolution and aspect ratio, from the model's table [spec N20 N35 N36]", async () => {
    const { both, videoModels } = await connect()
    for (const { make, refused } of both) {
      expect((await make({ model: veo, size: "1080x1920" })).sent).toMatchObject({
        resolution: "1080p",
        aspect_ratio: "9:16"
      })
      expect(await refused({ model: veo, size: "640x360" }, "size")).toContain(
        "Choose 1280x720, 720x1280, 1920x1080, 1080x1920, 3840x2160 or 2160x3840."
      )
      await refused({ model: veo, size: "1280x720", resolution: "1080p" }, "size")
    }
    expect((await videoModels()).find(({ id }) => id === ltx)).toMatchObject({
      supported_sizes: ["1920x1080", "1080x1920", "2560x1440", "1440x2560", "3840x2160", "2160x3840"],
      supported_durations: [6, 8, 10],
      supported_resolutions: ["1080p", "2K", "4K"],
      seed: false,
      capabilities: { references: [] }
    })
  })

  it("has 768p and 2K where a vendor has them, and lists them [spec N20]", async () => {
    const { both, videoModels } = await connect()
    const listed = (await videoModels()).filter(({ id }) => id.startsWith("fal/"))
    const having = (resolution: Video.Resolution) =>
      listed.flatMap(({ id, supported_resolutions }) => (supported_resolutions?.includes(resolution) ? [id] : []))
    expect([having("768p"), having("2K")]).toEqual([
      [hailuo, hailuo3],
      [ltx, hailuo3]
    ])
    for (const { make, refused } of both) {
      const made = await make({ model: ltx, resolution: "2K", aspect_ratio: "9:16" })
      expect(made.sent).toMatchObject({ resolution: "1440p", aspect_ratio: "9:16" })
      expect(made.job.usage?.cost).toBe(0.96)
      expect((await make({ model: ltx, size: "1440x2560" })).sent).toEqual(made.sent)
      const frame_images = [{ ...still, frame_type: "first_frame" }] as const
      expect((await make({ model: hailuo, resolution: "768p", frame_images })).sent).toMatchObject({
        resolution: "768P"
      })
      await refused({ model: veo, resolution: "2K" }, "resolution")
    }
  })

  it("upscales a given video, and charges its length [spec N37 N39]", async () => {
    const { both, get, videoModels } = await connect()
    const topaz = "fal/topaz/upscale/video/creative"
    const listed = (await videoModels()).filter(({ capabilities }) => capabilities?.upscale === true)
    expect(listed.map(({ id }) => id).toSorted()).toEqual([topaz, "sandbox/title-card-upscaler"])
    const given = { type: "video_url", video_url: { url: mp4Uri(2.4) } } as const
    const wanted = { model: topaz, prompt: undefined, input_references: [given] }
    for (const { make, refused } of both) {
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
      expect(await refused({ model: topaz, input_references: [clip] }, "input_references.0.video_url.url")).toContain(
        "decides the price"
      )
      for (const [path, more] of [
        ["duration", { duration: 5 }],
        ["resolution", { resolution: "4K" }],
        ["aspect_ratio", { aspect_ratio: "16:9" }],
        ["size", { size: "1280x720" }],
        ["generate_audio", { generate_audio: true }],
        ["upscale_factor", { upscale_factor: 5 }],
        ["creativity", { creativity: 2 }]
      ] as const) {
        await refused({ ...wanted, ...more }, path)
      }
      await refused({ model: topaz }, "input_references")
    }
    expect(listed.find(({ id }) => id === topaz)).toMatchObject({
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
    const response = await get(`/model/fal/${encodeURIComponent("topaz/upscale/video/creative")}`)
    expect(await response.json()).toMatchObject({ data: { architecture: { input_modalities: ["text", "video"] } } })
  })

  it("upscales a title card that the sandbox made, and no other video [spec N37 N39]", async () => {
    const { both, download, videoModels } = await connect()
    const model = "sandbox/title-card-upscaler"
    const source = (url: string) => ({
      model,
      prompt: undefined,
      input_references: [{ type: "video_url", video_url: { url } }] as const
    })
    for (const { make, refused } of both) {
      const card = await make({ model: "sandbox/title-card", prompt: "Fog", duration: 1, size: "160x90", seed: 7 })
      const given = await download(card.job.id)
      const wanted = source(`data:video/mp4;base64,${given.toString("base64")}`)
      const { job } = await make({ ...wanted, prompt: "More fog", creativity: 0.5, upscale_factor: 3, seed: 7 })
      expect(job.usage?.cost).toBe(0.01)
      expect(job.warnings).toEqual([
        `seed: ${model} takes no seed, so it was ignored.`,
        `prompt: ${model} takes no prompt, so it was ignored.`
      ])
      expect([sizeOf(given), sizeOf(await download(job.id))]).toEqual(["160x90", "480x270"])
      expect(await refused(source(mp4Uri(1)), "input_references.0.video_url.url")).toContain(
        `${model} is a sandbox model: it upscales only videos that sandbox/title-card made, unchanged`
      )
      await refused({ ...wanted, upscale_factor: 5 }, "upscale_factor")
      await refused({ ...wanted, creativity: 2 }, "creativity")
    }
    const data = await videoModels()
    expect(data.find(({ id }) => id === model)).toMatchObject({
      upscale_factor: { min: 1, max: 4 },
      seed: false,
      default_duration: 0,
      pricing_skus: { duration_seconds: "0.01" },
      capabilities: { upscale: true, references: ["video"], max_duration: 60, prompt_optional: true }
    })
    expect(data.find(({ id }) => id === "sandbox/title-card")?.upscale_factor).toBe(null)
  })

  it("refuses two images for one frame [spec N26]", async () => {
    const { both } = await connect()
    const frame = { ...still, frame_type: "first_frame" } as const
    const kling = "fal/fal-ai/kling-video/v2.5-turbo/pro/image-to-video"
    for (const { refused } of both) {
      const issue = await refused({ model: kling, frame_images: [frame, frame] }, "frame_images.1.frame_type")
      expect(issue).toContain("at most one image with first_frame")
    }
  })

  it("ignores images as references of a title card, with warnings, and refuses them where no provider of a model takes them [spec N31 N33]", async () => {
    const { both } = await connect()
    for (const { make, refused } of both) {
      const card = { model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "160x90" }
      const { first } = await make({ ...card, input_references: [still, audio] })
      expect(first.warnings).toEqual([
        "input_references: sandbox/title-card takes no image references, so they were ignored.",
        "input_references: sandbox/title-card takes no audio references, so they were ignored."
      ])
      expect(await refused({ model: ltx, input_references: [still] }, "input_references.0")).toContain(seedance)
    }
  })
})
