/** What the errors of Postgres and of the connection to it mean. */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import type { SqlErrorReason } from "effect/sql/SqlError"

/** A sentence, and whether the same request may succeed later without anyone's help. */
interface Meaning {
  readonly sentence: string
  readonly isRetryable: boolean
}

const meaning = (isRetryable: boolean, sentence: string): Meaning => ({ isRetryable, sentence })

const rejected = meaning(false, "Postgres rejected the user or the password of the database URL.")
const starting = meaning(true, "Postgres is starting or shutting down.")
const conflict = meaning(true, "Other requests changed the same rows of the database at the same time.")
const late = meaning(true, "The database did not answer in time.")
const lost = meaning(true, "The connection to the database was lost.")
const unverified = meaning(false, "The TLS certificate of Postgres could not be verified.")
const unknownHost = meaning(true, "The host of the database URL could not be found.")

/** By `SQLSTATE`, and by the codes of Node's sockets. */
const byCode: Readonly<Record<string, Meaning>> = {
  "22021": meaning(false, "Postgres cannot store a text with the character U+0000."),
  "28000": rejected,
  "28P01": rejected,
  "3D000": meaning(false, "Postgres has no database with the name in the database URL."),
  "53100": meaning(false, "The disk holding the database is full."),
  "53200": meaning(true, "Postgres has no memory left."),
  "53300": meaning(true, "Postgres accepts no more connections."),
  "58030": meaning(false, "The disk holding the database failed."),
  "25006": meaning(false, "The database is read-only: it may be a standby."),
  "42501": meaning(false, "The user of the database URL lacks a permission in the database."),
  "57P01": starting,
  "57P02": starting,
  "57P03": starting,
  "40001": conflict,
  "40P01": conflict,
  "55P03": late,
  "57014": late,
  "25P03": lost,
  ECONNREFUSED: meaning(true, "Nothing accepts connections at the address of the database URL."),
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  CERT_HAS_EXPIRED: unverified,
  DEPTH_ZERO_SELF_SIGNED_CERT: unverified,
  ERR_TLS_CERT_ALTNAME_INVALID: unverified,
  SELF_SIGNED_CERT_IN_CHAIN: unverified,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unverified
}

/** Whether a text has a character that Postgres cannot store: U+0000. */
export const isUnstorable = ({ cause }: SqlErrorReason): boolean => ErrorCode.of(cause) === "22021"

/** The meaning of an error, or `undefined` if only a general one applies. */
export const meaningOf = ({ _tag, cause, operation }: SqlErrorReason): Meaning | undefined => {
  const known = byCode[ErrorCode.of(cause) ?? ""]
  if (known !== undefined) return known
  switch (_tag) {
    case "AuthenticationError":
      return rejected
    case "ConnectionError":
      if (operation === "acquire") return meaning(true, "All connections to the database are in use.")
      return operation === "connect" ? meaning(true, "The database does not accept a connection.") : lost
    case "StatementTimeoutError":
      return late
    default:
      return undefined
  }
}
