/** The media types of the audio formats. */
import type { AudioFormat } from "@model-gateway/core/Transcription"

export const mediaTypes: Readonly<Record<AudioFormat, string>> = {
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  webm: "audio/webm",
  aac: "audio/aac"
}
