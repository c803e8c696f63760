/**
 * What a backup says about itself. Its archive is a tar with these entries, in this order:
 *
 * - `manifest.json`, {@link Manifest}
 * - `gateway.db`, a copy of the SQLite database
 * - `master.key` and `catalog.json`, if they are part of it
 * - `files/<kind>/<two characters>/<name>`, as in the data folder
 * - `end.json`, {@link End}, which shows that nothing is missing
 */
import { Schema } from "effect"

/** The format of this version. */
export const format = 1

/** The first entry. */
export const Manifest = Schema.Struct({
  format: Schema.Literal(format),
  /** The version of the gateway that wrote it. */
  version: Schema.String,
  created_at: Schema.String,
  /** `postgres`: the database is not in the backup. */
  database: Schema.Union([
    Schema.Struct({
      kind: Schema.Literal("sqlite"),
      schema: Schema.Int,
      bytes: Schema.Int,
      sha256: Schema.String,
      /** The sums of its ledgers. */
      sums: Schema.Record(Schema.String, Schema.String),
      /** The ids of the master keys that its secrets are encrypted with. */
      master_keys: Schema.Array(Schema.String)
    }),
    Schema.Struct({ kind: Schema.Literal("postgres") })
  ]),
  /** `s3`: the files are not in the backup. */
  files: Schema.Literals(["folder", "s3"])
})

/** The first entry. */
export type Manifest = typeof Manifest.Type

/** The last entry. */
export const End = Schema.Struct({
  files: Schema.Int,
  bytes: Schema.Int,
  /** Of the lines that `sha256sum` prints for all entries before this one, in the order of the archive. */
  sha256: Schema.String
})

/** The last entry. */
export type End = typeof End.Type

/** What every version writes. A later format has further fields. */
export const Version = Schema.Struct({ format: Schema.Int, version: Schema.String })

/** The names of the entries. */
export const names = {
  manifest: "manifest.json",
  database: "gateway.db",
  masterKey: "master.key",
  catalog: "catalog.json",
  end: "end.json"
} as const

/** The folder of the files, here and in the data folder. */
export const filesFolder = "files"

/** The name of a file's entry. No other name of a file is read or written. */
export const isFile = (name: string): boolean => /^files\/[a-z]{1,32}\/[\w-]{1,2}\/[\w-]{1,200}$/.test(name)

/** The line of an entry in the list whose checksum {@link End} has. */
export const line = (name: string, sha256: string): string => `${sha256}  ${name}\n`
