/** Messages between the service's thread and the measuring thread. */
import * as Schema from "effect/Schema"
import { AudioFormat } from "@model-gateway/core/Transcription"

export const Location = Schema.Union([
  Schema.TaggedStruct("Memory", { bytes: Schema.Uint8Array }),
  Schema.TaggedStruct("File", { path: Schema.String })
])

export type Location = typeof Location.Type

/** The first message of an answer: the audio is available and has this size in bytes. */
export const Begun = Schema.TaggedStruct("Begun", { size: Schema.Finite })

export const Answer = Schema.Union([
  Schema.TaggedStruct("Measured", { format: AudioFormat, duration: Schema.Finite }),
  /** Not audio, or an unsupported format. */
  Schema.TaggedStruct("NotAudio", { message: Schema.String }),
  Schema.TaggedStruct("Unreadable", { message: Schema.String })
])

export type Answer = typeof Answer.Type

export const Message = Schema.Union([Begun, Answer])

export type Message = typeof Message.Type
