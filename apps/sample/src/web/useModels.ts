/** Loads the ids of the gateway's models. */
import { Gateway, type Models } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useState } from "react"
import { runtime } from "./Page.ts"

/**
 * The model ids of each kind. Empty until a person signs in, or if they cannot be loaded. A panel
 * then offers only its default model.
 */
export type ModelIds = { readonly [K in Models.ModelKind]: ReadonlyArray<string> }

const none: ModelIds = { rerank: [], transcription: [], video: [] }

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
            video: ids(data, "video")
          })
        ),
        Effect.ignore
      )
    )
  }, [signedIn])
  return models
}
