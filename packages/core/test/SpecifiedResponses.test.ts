/**
 * The client decodes the responses of the specification, from this service or another one: with the
 * fields that the specification lists, and without any that it does not.
 */
import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import {
  CurrentKey,
  Files,
  Gateway,
  Guardrails,
  Keys,
  type Operation,
  Rerank,
  RetryPolicy,
  Transcription,
  Video,
  VideoProgress
} from "@model-gateway/core"
import { Effect, Fiber, Record, Schema, Stream, Struct } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

/** The 20 fields of the table "Key record". */
const keyRecord = {
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  creator_user_id: "user_1",
  expires_at: "2027-01-01T00:00:00Z",
  free_model_daily_requests: { limit: 200, remaining: 197, used: 3 },
  include_byok_in_limit: false,
  is_free_tier: false,
  is_management_key: false,
  is_provisioning_key: false,
  label: "mg_sk_…a1Z",
  limit: 10,
  limit_remaining: 7.5,
  limit_reset: "monthly",
  rate_limit: { interval: "10s", requests: -1, note: "deprecated" },
  usage: 12.5,
  usage_daily: 0.25,
  usage_weekly: 1,
  usage_monthly: 2.5
}

/** The fields of a record that may be null, each with null. */
const valueless = ({ fields }: { readonly fields: { readonly [name: string]: Schema.Schema<unknown> } }) =>
  Record.map(
    Record.filter(fields, (field) => Schema.is(field)(null)),
    () => null
  )

const job = { id: "v_1", polling_url: "/api/v1/videos/v_1", status: "pending" }
const segment = { id: 0, start: 0, end: 1, text: "a" }
const word = { word: "a", start: 0, end: 1 }

interface Specified {
  readonly operation: Operation.Operation
  /** The record with nothing but what the specification requires. */
  readonly listed: Schema.JsonObject
  /** The same with fields that it does not list or not require, each of which may be missing. */
  readonly full: Schema.JsonObject
}

const records: { readonly [name: string]: Specified } = {
  "a deletion in the shape native [spec C1 C2 C3 C9]": {
    operation: Files.deleteFileOperation,
    listed: { _shape: "native", id: "f", type: "file_deleted" },
    full: { _shape: "native", id: "f", type: "file_deleted" }
  },
  "a deletion in the shape compat_a [spec C4 C5 C6]": {
    operation: Files.deleteFileOperation,
    listed: { _shape: "compat_a", id: "f", object: "file", deleted: true },
    full: { _shape: "compat_a", id: "f", object: "file", deleted: true }
  },
  "a deletion in the shape compat_b [spec C7 C8]": {
    operation: Files.deleteFileOperation,
    listed: { _shape: "compat_b", id: "f", type: "file_deleted" },
    full: { _shape: "compat_b", id: "f", type: "file_deleted" }
  },
  "the key record [spec D26 K2]": {
    operation: CurrentKey.currentKeyOperation,
    listed: { data: keyRecord },
    full: { data: { ...keyRecord, workspace_id: "w", organization_id: "o", allowed_data_regions: ["eu"] } }
  },
  "a ranking [spec E2 E4 E5 E6 E7 E8 E9]": {
    operation: Rerank.rerankOperation,
    listed: { id: "r", model: "m", results: [{ index: 0, relevance_score: 1, document: { text: "d" } }] },
    full: {
      id: "r",
      model: "m",
      provider: "p",
      results: [{ index: 0, relevance_score: 1, document: { text: "d", image: "https://a.test/b.png" } }],
      usage: { search_units: 1, total_tokens: 2, cost: 0.1 },
      warnings: ["ignored"]
    }
  },
  "a transcript [spec F1 F2 F3 F4 F5 F6 F7]": {
    operation: Transcription.transcribeOperation,
    listed: { text: "a" },
    full: {
      text: "a",
      usage: { cost: 0.1, input_tokens: 1, output_tokens: 1, seconds: 1, total_tokens: 2 },
      duration: 1,
      language: "en",
      task: "transcribe",
      segments: [segment],
      words: [word],
      warnings: ["ignored"]
    }
  },
  "a job [spec G1 G2 G10 G11]": {
    operation: Video.submitVideoOperation,
    listed: job,
    full: {
      ...job,
      generation_id: "gen_1",
      usage: { cost: 0.1, is_byok: false },
      unsigned_urls: ["/api/v1/videos/v_1/content?index=0"],
      error: "e",
      model: "m",
      progress: 0.5,
      created_at: "2026-11-20T22:30:00.000Z",
      warnings: ["ignored"]
    }
  },
  "an assignment [spec H1 O8]": {
    operation: Guardrails.assignKeysOperation,
    listed: { assigned_count: 1 },
    full: { assigned_count: 1, not_found: ["h"], replaced: [{ key_hash: "h", previous_guardrail_id: "g" }] }
  }
}

type Path = ReadonlyArray<string | number>

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of a value, at any depth. */
const paths = (value: unknown, above: Path = []): ReadonlyArray<Path> =>
  Array.isArray(value)
    ? value.flatMap((item, index) => paths(item, [...above, index]))
    : isRecord(value)
      ? Object.entries(value).flatMap(([key, field]) => [[...above, key], ...paths(field, [...above, key])])
      : []

const without = (value: unknown, [first, ...rest]: Path): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === first ? without(item, rest) : item))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, field]) =>
      key !== first ? [[key, field]] : rest.length === 0 ? [] : [[key, without(field, rest)]]
    )
  )
}

/** The value with a field that nobody knows in each of its objects. */
const withMore = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withMore)
    : isRecord(value)
      ? {
          ...Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withMore(field)])),
          not_known: [{ yet: 1 }]
        }
      : value

const listedPaths = (record: Specified): ReadonlySet<string> =>
  new Set(paths(record.listed).map((path) => path.join(".")))

describe("the client decodes", () => {
  for (const [name, record] of Object.entries(records)) {
    const decode = Schema.decodeUnknownSync(record.operation.success)

    it(`with nothing but the listed fields, ${name}`, () => {
      expect(decode(record.listed)).toEqual(record.listed)
    })

    it(`without any one of the other fields, and with unknown ones, ${name}`, () => {
      expect(decode(record.full)).toEqual(record.full)
      expect(decode(withMore(record.full))).toEqual(record.full)
      const listed = listedPaths(record)
      for (const path of paths(record.full).filter((path) => !listed.has(path.join(".")))) {
        const less = without(record.full, path)
        expect(decode(less), path.join(".")).toEqual(less)
      }
    })
  }

  it("periods of a limit and states of a job that it does not know [spec D27]", () => {
    const { success } = CurrentKey.currentKeyOperation
    const yearly = { data: { ...keyRecord, limit_reset: "yearly" } }
    expect(Schema.decodeUnknownSync(success)(yearly)).toEqual(yearly)
    expect(() => Schema.decodeUnknownSync(success)({ data: { ...keyRecord, limit_reset: 1 } })).toThrow("Expected")
    const queued = { ...job, status: "queued" }
    for (const operation of [Video.submitVideoOperation, Video.getVideoOperation, Video.cancelVideoOperation]) {
      expect(Schema.decodeUnknownSync(operation.success)(queued)).toEqual(queued)
    }
    const list = { data: [queued], has_more: false }
    expect(Schema.decodeUnknownSync(Video.listVideosOperation.success)(list)).toEqual(list)
    expect(Video.isFinal("queued")).toBe(false)
    expectTypeOf<"queued">().toExtend<Video.Job["status"]>()
    expectTypeOf<"yearly">().toExtend<CurrentKey.KeyRecord["limit_reset"]>()
  })

  const created_at = "2026-11-20T23:30:00+01:00"
  const listed = {
    hash: "h",
    name: "n",
    label: "l",
    workspace_id: "w",
    disabled: false,
    is_free_tier: false,
    is_management_key: false,
    include_byok_in_limit: false,
    usage: 0,
    usage_daily: 0,
    usage_weekly: 0,
    usage_monthly: 0,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    limit_reset: "yearly",
    created_at,
    updated_at: created_at
  }

  it("lists of keys with unknown periods, other offsets, and without what has no value", () => {
    const decoded = { ...valueless(Keys.Key), ...listed }
    const page = { data: [listed], has_more: false }
    expect(Schema.decodeUnknownSync(Keys.listKeysOperation.success)(page)).toEqual({ ...page, data: [decoded] })
    for (const operation of [Keys.getKeyOperation, Keys.updateKeyOperation]) {
      expect(Schema.decodeUnknownSync(operation.success)({ data: listed })).toEqual({ data: decoded })
    }
    const { data } = Schema.decodeUnknownSync(Keys.createKeyOperation.success)({ data: listed, key: "k" })
    expect(data).toEqual(decoded)
    const short = { key: "k", expires_at: created_at }
    expect(Schema.decodeUnknownSync(Keys.createEphemeralKeyOperation.success)(short).expires_at).toBe(created_at)
    expectTypeOf<"yearly">().toExtend<Keys.Key["limit_reset"]>()
  })

  it("lists of guardrails and of their keys likewise", () => {
    const sent = {
      ...Guardrails.fixed,
      id: "g",
      name: "n",
      reset_interval: "yearly",
      created_at,
      updated_at: created_at
    }
    const unknown = { usage: null, usage_daily: null, usage_weekly: null, usage_monthly: null, key_count: null }
    const decoded = { ...valueless(Guardrails.Guardrail), ...unknown, keys: [], ...sent }
    const page = { data: [sent], total_count: 1 }
    expect(Schema.decodeUnknownSync(Guardrails.listGuardrailsOperation.success)(page)).toEqual({
      ...page,
      data: [decoded]
    })
    for (const operation of [
      Guardrails.createGuardrailOperation,
      Guardrails.getGuardrailOperation,
      Guardrails.updateGuardrailOperation
    ]) {
      expect(Schema.decodeUnknownSync(operation.success)({ data: sent })).toEqual({ data: decoded })
    }
    const assignment = { id: "a", key_hash: "h", key_name: "n", key_label: "l", guardrail_id: "g", created_at }
    const assignments = { data: [assignment], total_count: 1 }
    for (const operation of [Guardrails.listAssignmentsOperation, Guardrails.listAllAssignmentsOperation]) {
      expect(Schema.decodeUnknownSync(operation.success)(assignments)).toEqual({
        data: [{ ...assignment, assigned_by: null }],
        total_count: 1
      })
    }
  })

  it("a key record without what a caller ignores, and without what has no value [spec D21]", () => {
    const valued = ["creator_user_id", "expires_at", "limit", "limit_remaining", "limit_reset"] as const
    const rest = Struct.omit(keyRecord, [...valued, "rate_limit"])
    expect(Schema.decodeUnknownSync(CurrentKey.currentKeyOperation.success)({ data: rest })).toEqual({
      data: {
        ...rest,
        creator_user_id: null,
        expires_at: null,
        limit: null,
        limit_remaining: null,
        limit_reset: null
      }
    })
  })

  it.effect("a record of 20 fields that a service sends [spec D26]", () => {
    const stub = Stub.make(() => Stub.json({ data: keyRecord }))
    return Effect.gen(function* () {
      expect(yield* (yield* Gateway.Gateway).currentKey).toEqual(keyRecord)
    }).pipe(stub.run())
  })

  it.effect("an error whose code is not the status, and keeps the code [spec B4]", () => {
    const stub = Stub.make(() => Stub.json({ error: { code: 1042, message: "no such model" } }, 404))
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Gateway.Gateway).rerank({ model: "m", query: "q", documents: ["d"] }))
      expect(error).toMatchObject({ _tag: "NotFound", status: 404, metadata: { code: 1042 } })
    }).pipe(Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none), stub.run())
  })

  it.effect("a state that it does not know while it watches a job, and keeps watching", () => {
    const stub = Stub.make((_, number) =>
      Stub.json({ ...job, status: ["pending", "queued"][number - 1] ?? "completed" })
    )
    return Effect.gen(function* () {
      const watching = yield* Effect.forkChild(Stream.runCollect(VideoProgress.watch("v_1")))
      yield* TestClock.adjust("1 minute")
      const seen = yield* Fiber.join(watching)
      expect(seen.map(({ status }) => status)).toEqual(["pending", "queued", "completed"])
    }).pipe(stub.run())
  })
})

describe("the service's own schemas", () => {
  it("require every field that the contract says is always there, and know all words", () => {
    const isRecordOfOurs = Schema.is(CurrentKey.KeyRecord)
    const complete = { ...keyRecord, workspace_id: "w", organization_id: "o", allowed_data_regions: [] }
    expect(isRecordOfOurs(complete)).toBe(true)
    for (const field of Object.keys(complete)) expect(isRecordOfOurs(without(complete, [field])), field).toBe(false)
    expect(isRecordOfOurs({ ...complete, limit_reset: "yearly" })).toBe(false)
    expect(Schema.is(Video.Job)({ ...job, status: "queued" })).toBe(false)
    for (const field of Object.keys(segment)) {
      expect(Schema.is(Transcription.Segment)(without(segment, [field])), field).toBe(false)
    }
    for (const field of Object.keys(word)) {
      expect(Schema.is(Transcription.Word)(without(word, [field])), field).toBe(false)
    }
  })
})
