/** The gateway's models, to choose from. */
import { Gateway, type Models } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useState } from "react"
import { runtime } from "./Page.ts"

/**
 * The ids of each kind; none while nobody is signed in, or where they cannot be had: then a panel
 * has its default alone.
 */
export type ModelIds = { readonly [K in Models.ModelKind]: ReadonlyArray<string> }

const none: ModelIds = { rerank: [], transcription: [], video: [] }

/** Asks for them whenever somebody signs in. */
export const useModels = (signedIn: boolean): ModelIds => {
  const [models, setModels] = useState(none)
  useEffect(() => {
    if (!signedIn) return
    const ids = (all: ReadonlyArray<Models.Model>, kind: Models.ModelKind) =>
      all.filter((model) => model.kind === kind).map(({ id }) => id)
    return runtime.runCallback(
      Effect.flatMap(Gateway.Gateway, (gateway) => gateway.listModels()).pipe(
        Effect.map((all) =>
          setModels({
            rerank: ids(all, "rerank"),
            transcription: ids(all, "transcription"),
            video: ids(all, "video")
          })
        ),
        Effect.ignore
      )
    )
  }, [signedIn])
  return models
}
