/** An upload on Postgres whose connection is lost after the commit of its record. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as TcpProxy from "../TcpProxy.ts"
import { form, formHeaders, layerAt, TestGateway } from "../TestGateway.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { temporaryFolder } from "../TestStorage.ts"

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))

/** The server is ready for the next statement, outside a transaction. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Closes all connections once, when the record of an upload is committed. */
const cutAfterCommit = Effect.fnUntraced(function* (databaseUrl: string) {
  let isCut = false
  const { closeAll, url } = yield* TcpProxy.make(databaseUrl, () => {
    let isRecording = false
    return {
      toServer: (bytes) => {
        isRecording ||= bytes.includes("INSERT INTO files")
        return true
      },
      toClient: (bytes) => {
        if (isCut || !isRecording || !bytes.includes(ready)) return true
        isCut = true
        closeAll()
        return false
      }
    }
  })
  return { url, isCut: () => isCut }
})

describe.skipIf(!TestPostgres.isInstalled)("an upload whose record is committed unnoticed", () => {
  it.live("keeps its bytes: a repetition names a file that can be read", () =>
    Effect.gen(function* () {
      const { isCut, url } = yield* cutAfterCommit(yield* TestPostgres.create)
      const service = layerAt(
        yield* temporaryFolder,
        undefined,
        [],
        undefined,
        undefined,
        undefined,
        undefined,
        Redacted.make(url)
      )
      yield* Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const upload = ask("/api/v1/files", {
          method: "POST",
          headers: { ...formHeaders, "idempotency-key": "once" },
          body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a.txt", value: "hello" })
        })
        expect([(yield* upload).status, isCut()]).toEqual([503, true])
        const repeated = yield* upload
        expect([repeated.status, repeated.headers["idempotent-replayed"]]).toEqual([200, "true"])
        const { id } = yield* Schema.decodeUnknownEffect(Stored)(repeated.text)
        const content = yield* ask(`/api/v1/files/${id}/content`)
        expect([content.status, content.text]).toEqual([200, "hello"])
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )
})
