/** Ephemeral keys: of the caller's key, or of a key that a management key names. */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import type * as Keys from "@model-gateway/core/Keys"
import { Clock, Effect } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { type Descendant, EphemeralKeys } from "../access/EphemeralKeys.ts"
import { endOf, type Key } from "../access/Key.ts"
import { KeyResponses } from "../access/KeyResponses.ts"
import { KeyStore } from "../access/KeyStore.ts"
import * as Permission from "../access/Permission.ts"
import * as Audited from "../audit/Audited.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type * as Page from "../storage/sql/Page.ts"
import { found, missing } from "./KeyRequests.ts"

/** Default and longest lifetime of an ephemeral key, in seconds. */
const maxLifetimeSeconds = 900

const cannotCreate = new Forbidden({
  error: {
    message: `${phrases[403]}: an ephemeral key cannot create another. Use its parent key.`
  }
})

const ofParent = (message: string, reason: string) => invalid([{ path: "hash", message }], reason)

const expectedOrdinary = "Expected the hash of an ordinary key"

const notOfEphemeral = ofParent(expectedOrdinary, "an ephemeral key has no ephemeral keys. Name its parent.")

const notOfManagement = ofParent(
  expectedOrdinary,
  "a management key has no ephemeral keys, because it cannot spend. Name an ordinary key."
)

const notUsable = (reason: string) =>
  ofParent("Expected the hash of a key that can be used", `the key cannot be used: ${reason}.`)

const descendantToWire = (
  { ephemeral, parent }: Descendant,
  listedParent: typeof Keys.Key.Type
): typeof Keys.Key.Type => ({
  ...listedParent,
  hash: ephemeral.hash,
  label: ephemeral.label,
  created_at: Timestamp.fromMillis(ephemeral.createdAt),
  updated_at: Timestamp.fromMillis(ephemeral.createdAt),
  expires_at: Timestamp.fromMillis(endOf(ephemeral, parent)),
  parent_hash: parent.hash,
  ...(ephemeral.operations === null ? {} : { operations: [...ephemeral.operations] }),
  own_files: ephemeral.ownFiles
})

export const make = Effect.gen(function* () {
  const keys = yield* KeyStore
  const ephemerals = yield* EphemeralKeys
  const records = yield* KeyResponses
  const audited = yield* Audited.make

  /**
   * An ephemeral key of a key that the caller sees. Null: the hash is not that of an ephemeral key.
   */
  const find = Effect.fnUntraced(function* (hash: string) {
    const descendant = yield* orUnavailable(ephemerals.get((yield* currentCaller).key.organizationId, hash))
    if (descendant !== null) yield* Permission.check(descendant.parent.workspaceId, missing)
    return descendant
  })

  /** The caller's key. Fails with a 403 if it is an ephemeral key. */
  const callerKey = Effect.flatMap(currentCaller, ({ ephemeral, key }) =>
    ephemeral === null ? Effect.succeed(key) : Effect.fail(cannotCreate)
  )

  const create = Effect.fnUntraced(function* (key: Key, request: typeof Keys.EphemeralRequest.Type | null) {
    const lifetime = (request?.expires_in ?? maxLifetimeSeconds) * 1000
    const limits = { operations: request?.operations, ownFiles: request?.own_files }
    const created = yield* orUnavailable(ephemerals.create(key, lifetime, limits))
    return { key: created.plain, expires_at: Timestamp.fromMillis(created.ephemeral.expiresAt) }
  })

  /** As {@link create}, of a key that the caller sees. */
  const createFor = Effect.fnUntraced(function* (hash: string, request: typeof Keys.EphemeralRequest.Type | null) {
    if ((yield* find(hash)) !== null) return yield* notOfEphemeral
    const parent = yield* found(keys, (yield* currentCaller).key.organizationId, hash)
    yield* Permission.check(parent.workspaceId, missing)
    if (parent.isManagement) return yield* notOfManagement
    if (parent.disabled) return yield* notUsable("it is disabled")
    const now = yield* Clock.currentTimeMillis
    if (parent.expiresAt !== null && parent.expiresAt <= now) return yield* notUsable("it has expired")
    const { expires_in, operations, own_files } = request ?? {}
    const after = ({ expires_at }: typeof Keys.EphemeralResponse.Type) => ({
      expires_at,
      expires_in,
      operations,
      own_files
    })
    return yield* audited({ kind: "key", id: parent.hash, after }, create(parent, request))
  })

  const list = Effect.fnUntraced(function* (parent: Key, range: Page.OffsetRequest) {
    const page = yield* orUnavailable(ephemerals.list(parent, range))
    const listed = yield* orUnavailable(records.listed(parent))
    return {
      data: page.items.map((one) => descendantToWire(one, listed)),
      has_more: page.hasMore,
      total_count: (yield* orUnavailable(ephemerals.counts([parent.hash]))).get(parent.hash) ?? 0
    }
  })

  /** An ephemeral key with the properties of its parent. */
  const toWire = Effect.fnUntraced(function* (descendant: Descendant) {
    return descendantToWire(descendant, yield* orUnavailable(records.listed(descendant.parent)))
  })

  return { callerKey, create, createFor, find, list, toWire }
})
