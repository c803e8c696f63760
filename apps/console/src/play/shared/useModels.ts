/** Reads the models after the person has entered a key. */
import { createContext, use, useEffect, useState, useSyncExternalStore } from "react"
import type { Success } from "../../api/Contract.ts"
import { snapshot, subscribe } from "./access.ts"
import { read } from "./exchange.ts"
import type { Kind, Model, VideoModel } from "./models.ts"

export interface ModelLists {
  readonly models: ReadonlyArray<Model>
  readonly videos: ReadonlyArray<VideoModel>
  /** Why they could not be read. */
  readonly error: Error | undefined
}

const none: ModelLists = { models: [], videos: [], error: undefined }

export const useAccess = () => useSyncExternalStore(subscribe, snapshot)

/** The lists for the whole page. Empty without a key. */
export const Models = createContext<ModelLists>(none)

export const useModelLists = (): ModelLists => {
  const { label } = useAccess()
  const [lists, setLists] = useState(none)
  useEffect(() => {
    if (label === undefined) return setLists(none)
    const controller = new AbortController()
    const { signal } = controller
    Promise.all([
      read<Success<"GET /models">>("/models", signal),
      read<Success<"GET /videos/models">>("/videos/models", signal)
    ]).then(
      ([models, videos]) => setLists({ models: models.data, videos: videos.data, error: undefined }),
      (error: unknown) => {
        if (!signal.aborted) setLists({ ...none, error: error instanceof Error ? error : new Error(String(error)) })
      }
    )
    return () => controller.abort()
  }, [label])
  return lists
}

/** The models of an operation. */
export const useModels = (kind: Kind): ReadonlyArray<Model> => use(Models).models.filter((model) => model.kind === kind)

/** A model that was read. */
export const useModel = (id: string, kind: Kind): Model | undefined => useModels(kind).find((model) => model.id === id)

/** What a video model can do. */
export const useVideoModel = (id: string): VideoModel | undefined => use(Models).videos.find((model) => model.id === id)
