/** Messages between the service's process and the rendering process. */
import * as Schema from "effect/Schema"

export const Job = Schema.Struct({
  width: Schema.Int,
  height: Schema.Int,
  prompt: Schema.String,
  duration: Schema.Int,
  seed: Schema.Finite,
  creativity: Schema.optionalKey(Schema.Finite),
  frameRate: Schema.Int
})

export type Job = typeof Job.Type

export const Message = Schema.Union([
  Schema.TaggedStruct("Progress", { share: Schema.Finite }),
  Schema.TaggedStruct("Done", { video: Schema.Uint8Array }),
  Schema.TaggedStruct("Failed", { cause: Schema.String })
])

export type Message = typeof Message.Type
