import { NodeServices } from "@effect/platform-node"
import { describe, expect, it, layer } from "@effect/vitest"
import { File, FileList } from "@model-gateway/core/Files"
import { Duration, Effect, FileSystem, Redacted, Schedule, Schema } from "effect"
import { connect } from "node:net"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as TestGateway from "../TestGateway.ts"

/** Workspaces of one organization have different slugs. */
let slugs = 0

const Envelope = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.Struct({
      code: Schema.Int,
      message: Schema.String,
      metadata: Schema.optionalKey(
        Schema.Struct({
          issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
        })
      )
    }),
    service_metadata: Schema.Struct({ request_id: Schema.String })
  })
)

const decodeFile = Schema.decodeUnknownEffect(Schema.fromJsonString(File))
const decodeId = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))
const decodeList = Schema.decodeUnknownEffect(Schema.fromJsonString(FileList))
const decodeEnvelope = Schema.decodeUnknownEffect(Envelope)

/** The envelope of an answer that must be one of this status. */
const refused = Effect.fnUntraced(function* (status: number, answer: TestGateway.Answer) {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status })
  const envelope = yield* decodeEnvelope(answer.text)
  expect(envelope.error.code).toBe(status)
  return envelope.error
})

const file = (value: string | Uint8Array, more?: Partial<TestGateway.Part>): TestGateway.Part => ({
  name: "file",
  filename: "notes.txt",
  type: "text/plain",
  value,
  ...more
})

const purpose = (value = "test"): TestGateway.Part => ({ name: "purpose", value })

const post = Effect.fnUntraced(function* (
  body: Uint8Array,
  more?: { readonly key?: string; readonly query?: string; readonly headers?: Record<string, string> }
) {
  const { ask } = yield* TestGateway.TestGateway
  return yield* ask(`/api/v1/files${more?.query ?? ""}`, {
    method: "POST",
    ...(more?.key === undefined ? {} : { key: more.key }),
    headers: { ...TestGateway.formHeaders, ...more?.headers },
    body
  })
})

const upload = Effect.fnUntraced(function* (value: string | Uint8Array, more?: Partial<TestGateway.Part>) {
  const headers = { accept: "application/json; shape=native" }
  const answer = yield* post(TestGateway.form(purpose(), file(value, more)), { headers })
  expect(answer.status).toBe(200)
  return yield* decodeFile(answer.text)
})

/** Every object and every partial upload on disk. */
const onDisk = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { folder } = yield* TestGateway.TestGateway
  const isFile = (entry: string) =>
    fs.stat(`${folder}/files/${entry}`).pipe(
      Effect.map(({ type }) => type === "File"),
      // Gone since the folder was read.
      Effect.catchTag("PlatformError", () => Effect.succeed(false))
    )
  return yield* Effect.filter(yield* fs.readDirectory(`${folder}/files`, { recursive: true }), isFile)
}).pipe(Effect.provide(NodeServices.layer))

/** A key of another workspace of the same organization. */
const strangerKey = Effect.gen(function* () {
  const { workspace } = yield* TestGateway.TestGateway
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).create(workspace.organizationId, {
    name: "other",
    slug: `other-${slugs++}`
  })
  const { plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "other" })
  return { key: Redacted.value(plain), workspaceId }
})

/** Waits until nothing but these files lies on disk. */
const untilOnDisk = (count: number) =>
  Effect.repeat(onDisk, { until: (files) => files.length === count, schedule: Schedule.spaced("20 millis") }).pipe(
    Effect.timeout("5 seconds")
  )

/** A gateway that takes files of up to 100 000 bytes. */
const gateway = TestGateway.layer({ bodyLimits: { files: 100_000 } })

layer(gateway, { excludeTestServices: true })("files over HTTP", (it) => {
  it.effect("stores a file once under one Idempotency-Key", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const before = (yield* onDisk).length
      const send = (parts: ReadonlyArray<TestGateway.Part>, idempotencyKey = "k1", query = "") =>
        post(TestGateway.form(...parts), { query, headers: { "idempotency-key": idempotencyKey } })
      const same = [purpose(), file("hello")]
      const [first, second] = yield* Effect.all([send(same), send(same)], { concurrency: 2 })
      const third = yield* send([file("hello"), purpose()])
      expect([first.status, second.text, third.text]).toEqual([200, first.text, first.text])
      expect(third.headers["idempotent-replayed"]).toBe("true")
      // The copies of the repeated requests are gone.
      yield* untilOnDisk(before + 1)
      const { id } = yield* decodeFile(first.text)
      expect((yield* ask(`/api/v1/files/${id}/content`)).text).toBe("hello")

      const others = [
        [purpose(), file("hullo")],
        [purpose("other"), file("hello")],
        [purpose(), file("hello", { filename: "other.txt" })],
        [purpose(), file("hello", { type: "text/html" })]
      ]
      for (const other of others) {
        const { message } = yield* refused(400, yield* send(other))
        expect(message).toContain("Idempotency-Key")
      }
      yield* untilOnDisk(before + 1)

      // A form that is refused leaves the key free.
      yield* refused(400, yield* send([purpose()], "k2"))
      expect((yield* send(same, "k2")).headers["idempotent-replayed"]).toBe(undefined)
      yield* untilOnDisk(before + 2)

      const atProvider = yield* refused(400, yield* send(same, "k3", "?provider=provider_a"))
      expect(atProvider.message).toContain("provider")
      for (const stored of (yield* decodeList((yield* ask("/api/v1/files")).text)).data) {
        yield* ask(`/api/v1/files/${stored.id}`, { method: "DELETE" })
      }
    })
  )

  it.effect("stores a file, shows it, gives it back and deletes it once [spec C2 I3 I4 I5 J5]", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway.TestGateway
      const stored = yield* upload("hello, world")
      expect(stored).toMatchObject({
        _shape: "native",
        type: "file",
        filename: "notes.txt",
        size_bytes: 12,
        mime_type: "text/plain",
        downloadable: true,
        purpose: "test",
        workspace_id: workspace.id
      })
      const path = `/api/v1/files/${stored.id}`
      expect(yield* decodeFile((yield* ask(path)).text)).toEqual(stored)
      const content = yield* ask(`${path}/content`)
      expect(content).toMatchObject({ status: 200, text: "hello, world" })
      yield* refused(404, yield* ask(`${path};a`, { method: "DELETE" }))
      const deleted = yield* ask(path, { method: "DELETE" })
      expect(JSON.parse(deleted.text)).toEqual({ _shape: "native", id: stored.id, type: "file_deleted" })
      expect(deleted.status).toBe(200)
      yield* refused(404, yield* ask(path, { method: "DELETE" }))
      yield* refused(404, yield* ask(path))
      yield* refused(404, yield* ask(`${path}/content`))
      expect((yield* onDisk).filter((name) => name.includes(stored.id))).toEqual([])
    })
  )

  it.effect("shows, lists and stores a file in the shape that Accept names, or else the workspace", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway.TestGateway
      yield* upload("older")
      const id: unknown = expect.stringMatching(/^file_/)
      const known = { id, filename: "notes.txt" }
      const seconds: unknown = expect.any(Number)
      const time: unknown = expect.stringMatching(/^\d{4}-.*Z$/)
      const b = { type: "file", mime_type: "text/plain", size_bytes: 1, created_at: time, downloadable: true }
      const shapes = {
        native: { ...b, purpose: "user_data", workspace_id: workspace.id },
        compat_a: {
          object: "file",
          bytes: 1,
          created_at: seconds,
          purpose: "user_data",
          status: "processed"
        },
        compat_b: b
      }
      const change = (file_shape: string) =>
        ask(`/api/v1/workspaces/${workspace.id}`, {
          method: "PATCH",
          key: managementKey,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ file_shape })
        })
      for (const [shape, fields] of Object.entries(shapes)) {
        const expected = { _shape: shape, ...known, ...fields }
        const idempotencyKey = { "idempotency-key": `shape-${shape}` }
        const body = TestGateway.form(file("x"))
        const accept = { accept: `application/json; shape=${shape}` }
        const stored = yield* post(body, { headers: { ...accept, ...idempotencyKey } })
        expect(JSON.parse(stored.text)).toEqual(expected)
        expect((yield* post(body, { headers: { ...accept, ...idempotencyKey } })).text).toBe(stored.text)
        const { id } = yield* decodeId(stored.text)
        expect((yield* change(shape)).status).toBe(200)
        for (const headers of [accept, {}]) {
          expect(JSON.parse((yield* ask(`/api/v1/files/${id}`, { headers })).text)).toEqual({ ...expected, id })
          const listed = yield* ask("/api/v1/files?limit=1", { headers })
          expect(JSON.parse(listed.text)).toEqual({
            _shape: shape,
            ...(shape === "compat_a" ? { object: "list" } : {}),
            data: [{ ...expected, id }],
            has_more: true,
            first_id: id,
            last_id: id,
            ...(shape === "native" ? { cursor: id } : {})
          })
        }
      }
      yield* change("native")
    })
  )

  it.effect("takes the fields in any order, and drops those it does not know", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const other = { name: "other", filename: "other.bin", value: Buffer.alloc(50_000, 1) }
      const answer = yield* post(
        TestGateway.form(other, file("content"), { name: "note", value: "x" }, purpose("later"), other)
      )
      const stored = yield* decodeFile(answer.text)
      expect(stored).toMatchObject({ size_bytes: 7, purpose: "later", filename: "notes.txt" })
      expect((yield* ask(`/api/v1/files/${stored.id}/content`)).text).toBe("content")
    })
  )

  it.effect("refuses a form that is wrong, says what is wrong, and keeps nothing of it", () =>
    Effect.gen(function* () {
      const before = yield* onDisk
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<TestGateway.Part>]> = [
        ["file", [purpose()]],
        ["purpose", [file("x"), purpose("")]],
        ["purpose", [purpose("p".repeat(65)), file("x")]],
        ["file", [purpose(), file("")]],
        ["file", [file(""), purpose()]],
        ["file", [purpose(), file("one"), file("two")]],
        ["purpose", [purpose("a"), purpose("b"), file("x")]],
        ["expires_after", [{ name: "expires_after[anchor]", value: "created_at" }, file("x")]],
        ["file", []]
      ]
      for (const [path, parts] of cases) {
        const error = yield* refused(400, yield* post(TestGateway.form(...parts)))
        expect(error.message).toMatch(/^invalid request parameters/)
        expect(error.metadata?.issues?.map((issue) => issue.path)).toContain(path)
      }
      expect(yield* onDisk).toEqual(before)
    })
  )

  it.effect("refuses a body that is no form", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const before = yield* onDisk
      const send = (headers: Record<string, string>, body: string | Buffer) =>
        ask("/api/v1/files", { method: "POST", headers, body })
      yield* refused(400, yield* send({ "content-type": "application/json" }, "{}"))
      yield* refused(400, yield* send({}, ""))
      yield* refused(400, yield* send({ "content-type": "multipart/form-data" }, "x"))
      yield* refused(400, yield* send(TestGateway.formHeaders, "this is no form"))
      yield* refused(400, yield* send(TestGateway.formHeaders, ""))
      expect(yield* onDisk).toEqual(before)
    })
  )

  it.effect("refuses a form that is cut short, wherever it is cut", () =>
    Effect.gen(function* () {
      const before = yield* onDisk
      const whole = TestGateway.form(purpose(), file("x".repeat(1000)))
      for (const length of [10, 100, 300, 700, whole.length - 5, whole.length - 30]) {
        const error = yield* refused(400, yield* post(whole.subarray(0, length)))
        expect(error.message).toMatch(/^invalid request parameters/)
      }
      expect(yield* onDisk).toEqual(before)
    })
  )

  it.effect("takes a file of exactly the limit and refuses one more byte", () =>
    Effect.gen(function* () {
      expect((yield* upload(Buffer.alloc(100_000, 1))).size_bytes).toBe(100_000)
      const before = yield* onDisk
      const error = yield* refused(413, yield* post(TestGateway.form(purpose(), file(Buffer.alloc(100_001, 1)))))
      expect(error.message).toBe("request payload too large")
      yield* refused(413, yield* post(TestGateway.form(file(Buffer.alloc(100_001, 1)), purpose())))
      expect(yield* onDisk).toEqual(before)
    })
  )

  it.effect("refuses a body that is too large before it has come, with and without Content-Length", () =>
    Effect.gen(function* () {
      const { ordinaryKey, port } = yield* TestGateway.TestGateway
      const before = yield* onDisk
      const start = TestGateway.form(purpose(), file(Buffer.alloc(300_000, 1))).subarray(0, 200_000)
      for (const length of ["content-length: 3000000000", "transfer-encoding: chunked"]) {
        const said = yield* Effect.callback<string>((resume) => {
          let text = ""
          const socket = connect(port, "127.0.0.1", () => {
            socket.write(
              `POST /api/v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\n` +
                `content-type: ${TestGateway.formHeaders["content-type"]}\r\n${length}\r\n\r\n`
            )
            if (length.startsWith("transfer")) {
              socket.write(`${start.length.toString(16)}\r\n`)
              socket.write(start)
            }
          })
          socket.on("error", () => {})
          socket.on("data", (chunk) => {
            text += chunk.toString()
            // The body is not at its end, and there is an answer all the same.
            if (text.includes("request payload too large")) resume(Effect.succeed(text))
          })
          return Effect.sync(() => socket.destroy())
        }).pipe(Effect.timeout("5 seconds"))
        expect(said).toMatch(/^HTTP\/1\.1 413 /)
      }
      expect(yield* untilOnDisk(before.length)).toEqual(before)
    })
  )

  it.effect("keeps nothing of an upload whose sender hangs up", () =>
    Effect.gen(function* () {
      const { ordinaryKey, port } = yield* TestGateway.TestGateway
      const before = (yield* onDisk).length
      const half = TestGateway.form(purpose(), file(Buffer.alloc(90_000, 1))).subarray(0, 60_000)
      const socket = yield* Effect.callback<ReturnType<typeof connect>>((resume) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(
            `POST /api/v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\n` +
              `content-type: ${TestGateway.formHeaders["content-type"]}\r\ncontent-length: 90500\r\n\r\n`
          )
          socket.write(half)
          resume(Effect.succeed(socket))
        })
        socket.on("error", () => {})
      })
      yield* untilOnDisk(before + 1)
      socket.destroy()
      yield* untilOnDisk(before)
    })
  )

  it.effect("sends 100 Continue to a client that waits for it", () =>
    Effect.gen(function* () {
      const { ordinaryKey, port } = yield* TestGateway.TestGateway
      const body = TestGateway.form(purpose(), file(Buffer.alloc(90_000, 1)))
      const said = yield* Effect.callback<string>((resume) => {
        let text = ""
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(
            `POST /api/v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\nexpect: 100-continue\r\n` +
              `content-type: ${TestGateway.formHeaders["content-type"]}\r\ncontent-length: ${body.length}\r\n\r\n`
          )
        })
        let sent = false
        socket.on("error", () => {})
        socket.on("data", (chunk) => {
          text += chunk.toString()
          if (!sent && text.startsWith("HTTP/1.1 100 Continue\r\n\r\n")) {
            sent = true
            socket.write(body)
          }
          if (text.includes('"size_bytes":90000')) resume(Effect.succeed(text))
        })
        return Effect.sync(() => socket.destroy())
      }).pipe(Effect.timeout("5 seconds"))
      expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 100", "HTTP/1.1 200"])
    })
  )

  it.effect("names a file safely, whatever the name", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const nameOf = Effect.fnUntraced(function* (filename: string) {
        const stored = yield* upload("x", { filename })
        const content = yield* ask(`/api/v1/files/${stored.id}/content`)
        return { filename: stored.filename, disposition: content.headers["content-disposition"] }
      })
      expect(yield* nameOf("../../etc/passwd")).toEqual({
        filename: "passwd",
        disposition: 'attachment; filename="passwd"'
      })
      expect(yield* nameOf("..")).toEqual({ filename: "file", disposition: 'attachment; filename="file"' })
      expect(yield* nameOf("caf\u00e9 \u{1f600}.txt")).toEqual({
        filename: "caf\u00e9 \u{1f600}.txt",
        disposition: `attachment; filename="caf_ __.txt"; filename*=UTF-8''caf%C3%A9%20%F0%9F%98%80.txt`
      })
      expect((yield* nameOf(`${"n".repeat(300)}.txt`)).filename).toBe("n".repeat(255))
    })
  )

  it.effect("never serves an upload as a page of the service's origin", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const stored = yield* upload("<script>alert(1)</script>", {
        filename: "x.html",
        type: "text/html; charset=utf-8"
      })
      const { headers } = yield* ask(`/api/v1/files/${stored.id}/content`)
      expect(headers).toMatchObject({
        "content-type": "text/html",
        "content-disposition": 'attachment; filename="x.html"',
        "x-content-type-options": "nosniff"
      })
      const odd = yield* upload("x", { type: "nonsense" })
      expect(odd.mime_type).toBe("application/octet-stream")
    })
  )

  it.effect("stores a file of JSON", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const stored = yield* upload('{"a":1}', { filename: "a.json", type: "application/json" })
      expect(stored).toMatchObject({ filename: "a.json", mime_type: "application/json", size_bytes: 7 })
      const { headers, text } = yield* ask(`/api/v1/files/${stored.id}/content`)
      expect([text, headers["content-type"]]).toEqual(['{"a":1}', "application/json"])
    })
  )

  it.effect("serves a range of the content", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const { id } = yield* upload("0123456789")
      const get = (headers: Record<string, string>) => ask(`/api/v1/files/${id}/content`, { headers })
      const whole = yield* get({})
      expect(whole.headers).toMatchObject({ "accept-ranges": "bytes", "content-length": "10" })
      const etag = whole.headers.etag ?? ""
      expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
      expect(whole.headers["content-type"]).toBe("text/plain")
      const bytes = yield* get({ accept: "application/octet-stream" })
      expect(bytes.headers["content-type"]).toBe("application/octet-stream")
      const part = yield* get({ range: "bytes=2-4" })
      expect(part).toMatchObject({ status: 206, text: "234" })
      expect(part.headers).toMatchObject({ "content-range": "bytes 2-4/10", "content-length": "3" })
      expect(yield* get({ range: "bytes=-3" })).toMatchObject({ status: 206, text: "789" })
      expect(yield* get({ range: "bytes=0-1", "if-range": etag })).toMatchObject({ status: 206, text: "01" })
      expect(yield* get({ range: "bytes=0-1", "if-range": '"other"' })).toMatchObject({
        status: 200,
        text: "0123456789"
      })
      for (const range of ["bytes=10-", "bytes=5-2", "bytes=0-1,4-5", "lines=1-2"]) {
        expect(yield* get({ range })).toMatchObject({ status: 200, text: "0123456789" })
      }
    })
  )

  it.effect("lists the workspace's files, newest first, a page at a time", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const { key } = yield* strangerKey
      const ids: Array<string> = []
      for (const name of ["a", "b", "c"]) {
        const answer = yield* post(TestGateway.form(purpose(), file("x", { filename: name })), { key })
        ids.unshift((yield* decodeFile(answer.text)).id)
      }
      const list = Effect.fnUntraced(function* (query: string) {
        return yield* decodeList((yield* ask(`/api/v1/files${query}`, { key })).text)
      })
      const first = yield* list("?limit=2")
      expect(first).toMatchObject({ has_more: true, first_id: ids[0], last_id: ids[1], cursor: ids[1] })
      const second = yield* list(`?limit=2&after=${first.last_id}`)
      expect(second.data.map(({ id }) => id)).toEqual([ids[2]])
      expect(second).toMatchObject({ has_more: false, cursor: null })
      expect(yield* list("?limit=3")).toMatchObject({ has_more: false, last_id: ids[2] })
      expect(yield* list(`?after=${ids[2]}`)).toMatchObject({ data: [], first_id: null, last_id: null })
      for (const query of ["?limit=0", "?limit=1001", "?limit=x", "?after=nonsense"]) {
        yield* refused(400, yield* ask(`/api/v1/files${query}`, { key }))
      }
    })
  )

  it.effect("hides a file from other workspaces, and refuses a workspace that is not the key's [spec A8 J8 P9]", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway.TestGateway
      const { id } = yield* upload("ours")
      const { key, workspaceId } = yield* strangerKey
      for (const [method, path] of [
        ["GET", `/api/v1/files/${id}`],
        ["GET", `/api/v1/files/${id}/content`],
        ["DELETE", `/api/v1/files/${id}`]
      ] as const) {
        const hidden = yield* refused(404, yield* ask(path, { method, key }))
        const unknown = yield* refused(404, yield* ask(path.replace(id, "file_none"), { method, key }))
        expect(hidden.message.replace(id, "file_none")).toBe(unknown.message)
        yield* refused(403, yield* ask(`${path}?workspace_id=${workspace.id}`, { method, key }))
      }
      yield* refused(403, yield* ask(`/api/v1/files?workspace_id=${workspace.id}`, { key }))
      yield* refused(
        403,
        yield* post(TestGateway.form(purpose(), file("x")), { key, query: `?workspace_id=${workspace.id}` })
      )
      expect((yield* ask(`/api/v1/files/${id}?workspace_id=${workspace.id}`)).status).toBe(200)
      expect((yield* ask(`/api/v1/files/${id}?workspace_id=${workspace.id.toUpperCase()}`)).status).toBe(200)
      // A management key is a member of all of its organization's workspaces.
      expect((yield* ask(`/api/v1/files/${id}?workspace_id=${workspace.id}`, { key: managementKey })).status).toBe(200)
      yield* refused(404, yield* ask(`/api/v1/files/${id}?workspace_id=${workspaceId}`, { key: managementKey }))
    })
  )

  it.effect("deletes in the caller's own workspace, unless workspace_id names another [spec A8 J4 J7 J8 P9]", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway.TestGateway
      const { key, workspaceId } = yield* strangerKey
      const inOther = Effect.map(
        Effect.flatMap(post(TestGateway.form(file("theirs")), { key }), ({ text }) => decodeFile(text)),
        ({ id }) => id
      )
      const remove = (id: string, key: string, query = "") =>
        ask(`/api/v1/files/${id}${query}`, { method: "DELETE", key })
      const id = yield* inOther
      yield* refused(404, yield* remove(id, managementKey))
      expect((yield* remove(id, managementKey, `?workspace_id=${workspaceId}`)).status).toBe(200)
      yield* refused(404, yield* remove(id, key))
      const other = yield* inOther
      expect((yield* remove(other, key)).status).toBe(200)
      yield* refused(404, yield* remove(other, managementKey, `?workspace_id=${workspaceId}`))
    })
  )

  it.effect("answers malformed parameters of a deletion with a 404 that says why", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const { id } = yield* upload("stays")
      const remove = (rest: string) => ask(`/api/v1/files/${rest}`, { method: "DELETE" })
      for (const rest of [
        "..%2f..%2fgateway.db",
        "%2e%2e%2fgateway.db",
        "a%00b",
        "a.b",
        "a".repeat(257),
        `${id}%2fcontent`,
        `${id}?workspace_id=nonsense`,
        `${id}?provider=provider_c`
      ]) {
        const error = yield* refused(404, yield* remove(rest))
        expect(error.message).toMatch(/^resource not found: ./)
      }
      yield* refused(404, yield* remove("a".repeat(256)))
      expect((yield* ask(`/api/v1/files/${id}`)).status).toBe(200)
    })
  )

  it.effect("needs a provider key for a file at a provider", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const { id } = yield* upload("stays")
      for (const provider of ["provider_a", "provider_b"]) {
        const error = yield* refused(403, yield* ask(`/api/v1/files/${id}?provider=${provider}`, { method: "DELETE" }))
        expect(error.message).toContain(provider)
      }
      expect((yield* ask(`/api/v1/files/${id}`)).status).toBe(200)
    })
  )

  it.effect("confirms a deletion in the shape that was asked for, else in the workspace's [spec C4 C7 C10]", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway.TestGateway
      const remove = Effect.fnUntraced(function* (headers: Record<string, string>) {
        const { id } = yield* upload("x")
        const { text } = yield* ask(`/api/v1/files/${id}`, { method: "DELETE", headers })
        return { confirmation: Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Json))(text), id }
      })
      const a = yield* remove({ accept: "application/json; shape=compat_a" })
      expect(a.confirmation).toEqual({ _shape: "compat_a", id: a.id, object: "file", deleted: true })
      const b = yield* remove({ accept: "application/json; shape=compat_b" })
      expect(b.confirmation).toEqual({ _shape: "compat_b", id: b.id, type: "file_deleted" })
      const workspaces = yield* WorkspaceStore
      yield* workspaces.update(workspace.organizationId, workspace.id, { fileShape: "compat_a" })
      const c = yield* remove({})
      expect(c.confirmation).toMatchObject({ _shape: "compat_a" })
      const d = yield* remove({ accept: "application/json; shape=native" })
      expect(d.confirmation).toMatchObject({ _shape: "native" })
      yield* workspaces.update(workspace.organizationId, workspace.id, { fileShape: "native" })
    })
  )

  it.effect("asks for a key", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const before = yield* onDisk
      for (const method of ["GET", "POST"]) {
        yield* refused(401, yield* ask("/api/v1/files", { method, key: null }))
      }
      yield* refused(401, yield* ask("/api/v1/files/x", { method: "DELETE", key: null }))
      expect(yield* onDisk).toEqual(before)
    })
  )

  it.effect("says so when a file's bytes are lost, and still deletes its record", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      const { id } = yield* upload("soon lost")
      yield* (yield* ObjectStore).remove(`files/${id}`)
      yield* refused(500, yield* ask(`/api/v1/files/${id}/content`))
      expect((yield* ask(`/api/v1/files/${id}`, { method: "DELETE" })).status).toBe(200)
    })
  )
})

describe("files over HTTP, limited", () => {
  it.live("are limited like every other operation", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway.TestGateway
      for (let n = 0; n < 2; n++) expect((yield* ask("/api/v1/files")).status).toBe(200)
      // Whether a file exists is said only to a key with requests left.
      yield* refused(429, yield* ask("/api/v1/files/file_x", { method: "DELETE" }))
      const limited = yield* ask("/api/v1/files")
      yield* refused(429, limited)
      expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0)
      expect(limited.headers).toMatchObject({
        "ratelimit-policy": '"default";q=2;w=60'
      })
      expect(limited.headers["ratelimit"]).toContain("r=0")
    }).pipe(Effect.provide(TestGateway.layer({ rateLimit: { requests: 2, window: Duration.minutes(1) } })))
  )
})
