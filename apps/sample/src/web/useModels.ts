/** Loads what the gateway's models are, and what those of videos can do. */
import { Gateway, type Models, type Video } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useState } from "react"
import { runtime } from "./Page.ts"

/**
 * The model ids of each kind. Empty until a person signs in, or if they cannot be loaded. A panel
 * then offers only its default model.
 */
export type ModelIds = { readonly [K in Models.ModelKind]: ReadonlyArray<string> } & {
  /** The resolutions of a video model. */
  readonly resolutions: ReadonlyMap<string, ReadonlyArray<Video.Resolution>>
}

const none: ModelIds = { rerank: [], transcription: [], video: [], resolutions: new Map() }

/** Loads the model ids after each sign-in. */
export const useModels = (signedIn: boolean): ModelIds => {
  const [models, setModels] = useState(none)
  useEffect(() => {
    if (!signedIn) return
    const ids = (all: ReadonlyArray<Models.Model>, kind: Models.ModelKind) =>
      all.filter((model) => model.kind === kind).map(({ id }) => id)
    return runtime.runCallback(
      Effect.flatMap(Gateway.Gateway, (gateway) => gateway.listModels()).pipe(
        Effect.map(({ data }) =>
          setModels({
            rerank: ids(data, "rerank"),
            transcription: ids(data, "transcription"),
            video: ids(data, "video"),
            resolutions: new Map(
              data.flatMap(({ capabilities: { resolutions }, id }) =>
                resolutions === undefined ? [] : [[id, resolutions] as const]
              )
            )
          })
        ),
        Effect.ignore
      )
    )
  }, [signedIn])
  return models
}
