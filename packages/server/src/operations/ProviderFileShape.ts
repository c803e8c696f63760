/**
 * Renders files that a provider stores in one of the three shapes. In the provider's own shape they
 * stay as the provider described them.
 */
import type {
  CompatAFile,
  CompatAFileList,
  CompatBFile,
  CompatBFileList,
  DeletionShape,
  File,
  FileList
} from "@model-gateway/core/Files"
import type { ProviderFile, ProviderFileList } from "@model-gateway/providers/FileApi"
import * as Timestamp from "../http/Timestamp.ts"

/** What is known of a file in either shape. */
const commonOf = (file: ProviderFile) =>
  "size_bytes" in file
    ? {
        bytes: file.size_bytes,
        createdAt: Date.parse(file.created_at) || 0,
        mimeType: file.mime_type,
        purpose: "user_data"
      }
    : {
        bytes: file.bytes,
        createdAt: file.created_at * 1000,
        mimeType: "application/octet-stream",
        purpose: file.purpose
      }

const toCompatA = (file: ProviderFile): CompatAFile => {
  if (!("size_bytes" in file)) return file
  const { bytes, createdAt, purpose } = commonOf(file)
  const { filename, id } = file
  return { id, object: "file", filename, bytes, purpose, created_at: Math.floor(createdAt / 1000), status: "processed" }
}

const toCompatB = (file: ProviderFile): CompatBFile => {
  if ("size_bytes" in file) return file
  const { bytes, createdAt, mimeType } = commonOf(file)
  const { filename, id } = file
  return {
    id,
    type: "file",
    filename,
    mime_type: mimeType,
    size_bytes: bytes,
    created_at: Timestamp.fromMillis(createdAt)
  }
}

const toNative = (file: ProviderFile, workspaceId: string): File => {
  const { bytes, createdAt, mimeType, purpose } = commonOf(file)
  const { filename, id } = file
  return {
    id,
    object: "file",
    filename,
    bytes,
    mime_type: mimeType,
    purpose,
    created_at: Timestamp.fromMillis(createdAt),
    workspace_id: workspaceId
  }
}

/** The file in the shape. */
export const file = (
  shape: DeletionShape,
  file: ProviderFile,
  workspaceId: string
): File | CompatAFile | CompatBFile => {
  switch (shape) {
    case "native":
      return toNative(file, workspaceId)
    case "compat_a":
      return toCompatA(file)
    case "compat_b":
      return toCompatB(file)
  }
}

/** The page in the shape. */
export const list = (
  shape: DeletionShape,
  { data, first_id, has_more, last_id }: ProviderFileList,
  workspaceId: string
): FileList | CompatAFileList | CompatBFileList => {
  const page = { has_more, first_id, last_id }
  const files: ReadonlyArray<ProviderFile> = data
  switch (shape) {
    case "native":
      return { object: "list", data: files.map((each) => toNative(each, workspaceId)), ...page }
    case "compat_a":
      return { object: "list", data: files.map(toCompatA), ...page }
    case "compat_b":
      return { data: files.map(toCompatB), ...page }
  }
}
