/** The objects of finished videos. An object is named after its job and the index of the video. */
import { Effect } from "effect"
import type { ObjectOwner } from "../objects/ObjectSweep.ts"
import { VideoJobs } from "./VideoJobs.ts"

/** For the object sweep: the jobs own their videos. */
export const objectOwner: Effect.Effect<ObjectOwner, never, VideoJobs> = Effect.map(VideoJobs, ({ withContent }) => ({
  kind: "videos",
  recordOf: (name) => name.replace(/-\d+$/, ""),
  known: withContent
}))
