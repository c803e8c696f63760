import { expect, it } from "@effect/vitest"
import { Effect, FileSystem, Schedule, Schema } from "effect"
import { NodeFileSystem } from "@effect/platform-node"
import { SqlClient } from "effect/sql/SqlClient"
import { envelopeOf } from "../TestEnvelope.ts"
import { form, formHeaders, layer, TestGateway } from "../TestGateway.ts"

const Report = Schema.fromJsonString(
  Schema.Struct({
    status: Schema.String,
    parts: Schema.Record(
      Schema.String,
      Schema.Struct({ status: Schema.String, message: Schema.optionalKey(Schema.String) })
    )
  })
)

const reportOf = Schema.decodeUnknownSync(Report)

it.live("/readyz answers 503, and names the part, while a table of the database is missing", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { ask } = yield* TestGateway
    yield* sql`ALTER TABLE usage_ledger RENAME TO elsewhere`
    const refused = yield* ask("/readyz", { key: null })
    expect(refused.status).toBe(503)
    expect(envelopeOf(refused).error.message).toBe(
      "service temporarily unavailable: the database cannot serve requests"
    )
    expect(reportOf(refused.text)).toEqual({
      status: "unavailable",
      parts: {
        database: { status: "unavailable", message: "The database did not answer as expected." },
        object_store: { status: "ready" },
        uploads: { status: "ready" }
      }
    })
    expect((yield* ask("/healthz", { key: null })).status).toBe(200)
  }).pipe(Effect.provide(layer()))
)

it.live("/readyz answers 200 with status degraded while the folder of the files is missing", () =>
  Effect.gen(function* () {
    const { ask, folder } = yield* TestGateway
    const fs = yield* FileSystem.FileSystem
    yield* fs.rename(`${folder}/files`, `${folder}/elsewhere`)
    const degraded = yield* ask("/readyz", { key: null })
    expect(degraded.status).toBe(200)
    expect(reportOf(degraded.text)).toEqual({
      status: "degraded",
      parts: {
        database: { status: "ready" },
        object_store: { status: "degraded", message: "The disk that holds the files did not answer as expected." },
        uploads: { status: "ready" }
      }
    })
    expect(degraded.text).not.toContain(folder)
    yield* fs.rename(`${folder}/elsewhere`, `${folder}/files`)
    yield* Effect.repeat(ask("/readyz", { key: null }), {
      until: ({ text }) => reportOf(text).status === "ready",
      times: 100,
      schedule: Schedule.spaced("50 millis")
    })
  }).pipe(Effect.provide(layer()), Effect.provide(NodeFileSystem.layer))
)

it.live("/readyz says that a part fails when uploads get a 503 because of it", () =>
  Effect.gen(function* () {
    const { ask, folder } = yield* TestGateway
    const fs = yield* FileSystem.FileSystem
    const upload = ask("/api/v1/files", {
      method: "POST",
      headers: formHeaders,
      body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "a" })
    })
    const partsOf = Effect.map(ask("/readyz", { key: null }), ({ text }) => reportOf(text).parts)
    // A folder in which no other can be made, as on a read-only disk. Root may write to those.
    yield* fs.writeFileString(`${folder}/files/files`, "")
    expect((yield* upload).status).toBe(503)
    expect(yield* partsOf).toMatchObject({ object_store: { status: "degraded" }, uploads: { status: "ready" } })
  }).pipe(Effect.provide(layer()), Effect.provide(NodeFileSystem.layer))
)

it.live("/readyz names the uploads while their folder is missing", () =>
  Effect.gen(function* () {
    const { ask, folder } = yield* TestGateway
    const fs = yield* FileSystem.FileSystem
    yield* fs.remove(`${folder}/uploads`, { recursive: true })
    const { status, text } = yield* ask("/readyz", { key: null })
    expect([status, reportOf(text).parts["uploads"]]).toEqual([
      200,
      { status: "degraded", message: "The disk that holds the uploads did not answer as expected." }
    ])
    expect(text).not.toContain(folder)
  }).pipe(Effect.provide(layer()), Effect.provide(NodeFileSystem.layer))
)
