/** The request of the form, and what the model allows in it. */
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import type { VideoModel } from "../shared/models.ts"
import type { CodeCall } from "../shared/programs.ts"
import { providerOf } from "../shared/provider.ts"

export const defaults = {
  model: "sandbox/title-card",
  prompt: "Dawn over the harbor",
  duration: "",
  resolution: "",
  aspect_ratio: "",
  seed: "",
  generate_audio: "",
  /** Images as `data:` URIs or HTTPS addresses. */
  first_frame: "",
  last_frame: "",
  /** HTTPS addresses of images that guide the model, one on each line. */
  references: "",
  /** The HTTPS address of the video to upscale. */
  source: "",
  upscale_factor: "",
  creativity: "",
  provider: ""
}

export type VideoForm = typeof defaults

type Abilities = Pick<
  VideoModel,
  | "supported_resolutions"
  | "supported_aspect_ratios"
  | "supported_durations"
  | "supported_frame_images"
  | "seed"
  | "capabilities"
  | "upscale_factor"
>

/** The durations that the model has a list of, or makes itself. Undefined: any whole number. */
export const durationsOf = ({
  capabilities: { max_duration },
  supported_durations
}: Abilities): ReadonlyArray<number> | undefined => {
  if (supported_durations !== null) return supported_durations
  return max_duration !== undefined && max_duration <= 20
    ? Array.from({ length: max_duration }, (_, index) => index + 1)
    : undefined
}

/** The form without what the model does not support, so that it is not sent. */
export const fitted = (form: VideoForm, model: Abilities | undefined): VideoForm => {
  if (model === undefined) return form
  const kept = (value: string, supported: ReadonlyArray<string>) => (supported.includes(value) ? value : "")
  const isUpscaler = model.capabilities.upscale === true
  const durations = durationsOf(model)
  return {
    ...form,
    duration: durations === undefined ? form.duration : kept(form.duration, durations.map(String)),
    resolution: kept(form.resolution, model.supported_resolutions),
    aspect_ratio: kept(form.aspect_ratio, model.supported_aspect_ratios),
    seed: model.seed === false ? "" : form.seed,
    generate_audio: model.capabilities.generate_audio === true ? form.generate_audio : "",
    first_frame: model.supported_frame_images.includes("first_frame") ? form.first_frame : "",
    last_frame: model.supported_frame_images.includes("last_frame") ? form.last_frame : "",
    references: model.capabilities.references?.includes("image") === true ? form.references : "",
    source: isUpscaler ? form.source : "",
    upscale_factor: isUpscaler ? form.upscale_factor : "",
    creativity: isUpscaler ? form.creativity : ""
  }
}

/** Why the request cannot be sent. */
export const problemOf = (form: VideoForm, model: Abilities | undefined): string | undefined => {
  const isUpscaler = model?.capabilities.upscale === true
  const needsPrompt = !isUpscaler && model?.capabilities.prompt_optional !== true
  if (needsPrompt && form.prompt.trim() === "") return "Say in the prompt what the video shows."
  if (isUpscaler && form.source === "") return "Enter the address of the video to upscale."
  if (form.duration !== "" && !/^[1-9]\d*$/.test(form.duration)) return "The duration is a whole number of seconds."
  if (form.seed !== "" && !/^-?\d+$/.test(form.seed)) return "The seed is a whole number."
  return undefined
}

const lines = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)

/** The body of the request. */
export const bodyOf = (form: VideoForm): { readonly [field: string]: Json } => {
  const frames = (["first_frame", "last_frame"] as const).flatMap((frame_type) =>
    form[frame_type] === "" ? [] : [{ type: "image_url", image_url: { url: form[frame_type] }, frame_type }]
  )
  const references: ReadonlyArray<Json> = [
    ...lines(form.references).map((url) => ({ type: "image_url", image_url: { url } })),
    ...(form.source === "" ? [] : [{ type: "video_url", video_url: { url: form.source } }])
  ]
  const numbers = (["duration", "seed", "upscale_factor", "creativity"] as const).filter((name) => form[name] !== "")
  const texts = (["resolution", "aspect_ratio"] as const).filter((name) => form[name] !== "")
  return {
    model: form.model,
    ...(form.prompt === "" ? {} : { prompt: form.prompt }),
    ...Object.fromEntries(texts.map((name) => [name, form[name]])),
    ...Object.fromEntries(numbers.map((name) => [name, Number(form[name])])),
    ...(form.generate_audio === "" ? {} : { generate_audio: form.generate_audio === "yes" }),
    ...(frames.length === 0 ? {} : { frame_images: frames }),
    ...(references.length === 0 ? {} : { input_references: references }),
    ...providerOf(form.provider)
  }
}

/** The longest image that a program has in it, in characters. */
const maxInCode = 2000

/** The request for the programs. */
export const codeOf = (form: VideoForm): CodeCall => {
  const isLong = (uri: string) => uri.startsWith("data:") && uri.length > maxInCode
  const short = (uri: string) => (isLong(uri) ? `${uri.slice(0, uri.indexOf(",") + 1)}…` : uri)
  const json = bodyOf({ ...form, first_frame: short(form.first_frame), last_frame: short(form.last_frame) })
  return {
    request: { method: "POST", path: "/videos", json },
    client: { client: "Video.submitVideo", isFunction: true, arguments: [json] },
    note: [form.first_frame, form.last_frame].some(isLong)
      ? "Put the image in base64 in place of …."
      : "It submits the job. GET /videos/{id} says how far it is."
  }
}
