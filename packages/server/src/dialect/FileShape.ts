/**
 * Renders files, the gateway's own and those that a provider stores, in one of the three shapes. In
 * the provider's own shape they stay as the provider described them.
 */
import type { DeletionShape, File, FileList } from "@model-gateway/core/Files"
import type { CompatAFile, CompatAFileList, CompatBFile, CompatBFileList } from "@model-gateway/core/FileShapes"
import type { AnthropicFile, ProviderFile, ProviderFileList } from "@model-gateway/offers/FileApi"
import * as Timestamp from "../internal/Timestamp.ts"
import type { FileRecord } from "../objects/FileStore.ts"

/** The purpose of a file whose upload did not say it. */
export const defaultPurpose = "user_data"

/** A file to render. Only the gateway's own have a media type and a purpose. */
export type Source = ProviderFile | (AnthropicFile & { readonly purpose: string })

/** A file of the gateway's own. */
export const ofRecord = (file: FileRecord): Source => ({
  id: file.id,
  filename: file.filename,
  mime_type: file.contentType,
  size_bytes: file.bytes,
  created_at: Timestamp.fromMillis(file.createdAt),
  downloadable: true,
  purpose: file.purpose
})

const purposeOf = (file: Source): string => ("purpose" in file ? file.purpose : defaultPurpose)

const toCompatA = (file: Source): CompatAFile => ({
  _shape: "compat_a",
  id: file.id,
  object: "file",
  filename: file.filename,
  purpose: purposeOf(file),
  status: "processed",
  ...("size_bytes" in file
    ? { bytes: file.size_bytes, created_at: Math.floor(Date.parse(file.created_at) / 1000) }
    : {
        bytes: file.bytes,
        created_at: file.created_at,
        ...(file.expires_at === undefined ? {} : { expires_at: file.expires_at }),
        ...(file.status_details === undefined ? {} : { status_details: file.status_details })
      })
})

const toCompatB = (file: Source): CompatBFile => ({
  _shape: "compat_b",
  id: file.id,
  type: "file",
  filename: file.filename,
  ...("size_bytes" in file
    ? {
        mime_type: file.mime_type,
        size_bytes: file.size_bytes,
        created_at: file.created_at,
        ...(file.expires_at === undefined ? {} : { expires_at: file.expires_at }),
        downloadable: file.downloadable ?? false
      }
    : {
        mime_type: "application/octet-stream",
        size_bytes: file.bytes,
        created_at: Timestamp.fromMillis(file.created_at * 1000),
        downloadable: true
      })
})

const toNative = (source: Source, workspace_id: string): File => {
  const { created_at, downloadable, filename, id, mime_type, size_bytes, type } = toCompatB(source)
  return {
    _shape: "native",
    id,
    type,
    filename,
    mime_type,
    size_bytes,
    created_at: Timestamp.fromMillis(Date.parse(created_at)),
    downloadable,
    purpose: purposeOf(source),
    workspace_id
  }
}

/** The file in the shape. */
export const file = (shape: DeletionShape, file: Source, workspaceId: string): File | CompatAFile | CompatBFile => {
  switch (shape) {
    case "native":
      return toNative(file, workspaceId)
    case "compat_a":
      return toCompatA(file)
    case "compat_b":
      return toCompatB(file)
  }
}

/** A page of files. */
export interface SourceList extends Omit<ProviderFileList, "data"> {
  readonly data: ReadonlyArray<Source>
}

/** The page in the shape. */
export const list = (
  shape: DeletionShape,
  { cursor, data, first_id, has_more, last_id }: SourceList,
  workspaceId: string
): FileList | CompatAFileList | CompatBFileList => {
  const page = { has_more, first_id, last_id }
  // These shapes have no field for a cursor. Their clients send `last_id` as the next `after`.
  const compatible = { ...page, last_id: has_more ? (cursor ?? last_id) : last_id }
  switch (shape) {
    case "native":
      return {
        _shape: "native",
        data: data.map((each) => toNative(each, workspaceId)),
        ...page,
        cursor: has_more ? (cursor ?? last_id) : null
      }
    case "compat_a":
      return { _shape: "compat_a", object: "list", data: data.map(toCompatA), ...compatible }
    case "compat_b":
      return { _shape: "compat_b", data: data.map(toCompatB), ...compatible }
  }
}
