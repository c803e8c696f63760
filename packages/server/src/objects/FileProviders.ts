/**
 * The providers that store files for callers with a provider key: who `provider_a` and
 * `provider_b` are.
 *
 * Specification: "DELETE /files/{file_id}".
 */
import type { FileProvider } from "@model-gateway/core/Files"
import type { FileApi } from "@model-gateway/offers/FileApi"
import { Context } from "effect"

/** The files of each provider. Absent: the gateway does not call it. */
export type FileApis = { readonly [Provider in FileProvider]?: FileApi }

/** The providers of this gateway as they are now, which a reload may replace. Default: none. */
export const FileProviders = Context.Reference<() => FileApis>("@model-gateway/server/objects/FileProviders", {
  defaultValue: () => () => ({})
})

/** The names under which callers store their keys for files. */
export const namesOf = (apis: FileApis): ReadonlyArray<string> => Object.values(apis).map(({ provider }) => provider)
