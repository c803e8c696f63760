/**
 * The shapes of files of two other vendors, which `Files` can answer in.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The fields of a page of files that all three shapes have.
 *
 * @category constants
 * @since 0.1.0
 */
export const pageFields = {
  /** Whether more files follow this page. */
  has_more: Schema.Boolean,
  /** The `id` of the first file of the page. Null if the page is empty. */
  first_id: Schema.NullOr(Schema.String),
  /** The `id` of the last file of the page. Null if the page is empty. */
  last_id: Schema.NullOr(Schema.String)
}

/**
 * A file in the shape `compat_a`: that of OpenAI's files, with `_shape`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatAFile = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_a"),
  /** The file's identifier. */
  id: Schema.String,
  /** Always `file`. */
  object: Schema.Literal("file"),
  /** The name that the file was uploaded with. */
  filename: Schema.String,
  /** Size in bytes. */
  bytes: Schema.Int,
  /** What the file is for. `user_data` if the upload did not say it. */
  purpose: Schema.String,
  /** When the file was stored, in seconds since 1970. */
  created_at: Schema.Int,
  /** When the provider deletes the file, in seconds since 1970. Absent or null: it does not. */
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  /** Always `processed`: a stored file can be used at once. */
  status: Schema.Literal("processed"),
  /** What the provider says of the file's status. */
  status_details: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompatAFile = { [Field in keyof typeof CompatAFile.Type]: (typeof CompatAFile.Type)[Field] }

/**
 * A page of files in the shape `compat_a`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatAFileList = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_a"),
  /** Always `list`. */
  object: Schema.Literal("list"),
  /** The files, newest first unless `order` says otherwise. */
  data: Schema.Array(CompatAFile),
  ...pageFields
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompatAFileList = { [Field in keyof typeof CompatAFileList.Type]: (typeof CompatAFileList.Type)[Field] }

/**
 * A file in the shape `compat_b`: that of Anthropic's files, with `_shape`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatBFile = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_b"),
  /** The file's identifier. */
  id: Schema.String,
  /** Always `file`. */
  type: Schema.Literal("file"),
  /** The name that the file was uploaded with. */
  filename: Schema.String,
  /** The media type, such as `audio/wav`. `application/octet-stream` if it is not known. */
  mime_type: Schema.String,
  /** Size in bytes. */
  size_bytes: Schema.Int,
  /** When the file was stored, in RFC 3339. */
  created_at: Schema.String,
  /** When the provider deletes the file, in RFC 3339. Absent or null: it does not. */
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** Whether the file's content can be read. */
  downloadable: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompatBFile = { [Field in keyof typeof CompatBFile.Type]: (typeof CompatBFile.Type)[Field] }

/**
 * A page of files in the shape `compat_b`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatBFileList = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_b"),
  /** The files, newest first unless `order` says otherwise. */
  data: Schema.Array(CompatBFile),
  ...pageFields
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompatBFileList = { [Field in keyof typeof CompatBFileList.Type]: (typeof CompatBFileList.Type)[Field] }

/**
 * The confirmation that a file was deleted, in the service's own shape.
 *
 * Specification: "File deletion confirmation".
 *
 * @category schemas
 * @since 0.1.0
 */
export const NativeDeletion = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("native"),
  /** The identifier of the deleted file. */
  id: Schema.String,
  /** Always `file_deleted`. */
  type: Schema.Literal("file_deleted")
})

/**
 * The confirmation that a file was deleted, in the shape `compat_a`.
 *
 * Specification: "File deletion confirmation".
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatADeletion = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_a"),
  /** The identifier of the deleted file. */
  id: Schema.String,
  /** Always `file`. */
  object: Schema.Literal("file"),
  /** Always `true`. */
  deleted: Schema.Literal(true)
})

/**
 * The confirmation that a file was deleted, in the shape `compat_b`.
 *
 * Specification: "File deletion confirmation".
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompatBDeletion = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("compat_b"),
  /** The identifier of the deleted file. */
  id: Schema.String,
  /** Always `file_deleted`. */
  type: Schema.Literal("file_deleted")
})
