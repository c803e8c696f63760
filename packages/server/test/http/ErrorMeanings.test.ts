// What each status means, over HTTP: the conditions of the specification's section "Errors", and
// the words that its messages begin with, for every operation that has the status.
import { expect, it } from "@effect/vitest"
import type { FileApi } from "@model-gateway/offers/FileApi"
import {
  BadResponse,
  InputTooLarge,
  invalidRequest,
  Overloaded,
  ProviderError,
  type Reason
} from "@model-gateway/offers/ProviderError"
import { Duration, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { keypad } from "../operations/TestAudio.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { type Answer, type Ask, form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { scripted } from "../TestProvider.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"

type Name = "deleteFile" | "currentKey" | "rerank" | "transcribe" | "submitVideo" | "assignKeys"

const none = "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd"

const paths = {
  deleteFile: "/api/v1/files/file_none",
  currentKey: "/api/v1/key",
  rerank: "/api/v1/rerank",
  transcribe: "/api/v1/audio/transcriptions",
  submitVideo: "/api/v1/videos",
  assignKeys: `/api/v1/guardrails/${none}/assignments/keys`
} satisfies Readonly<Record<Name, string>>

const rerank = { model: "test/rank", query: "tea", documents: ["tea"] }

const transcription = {
  model: "test/hear",
  input_audio: { data: keypad("1").toString("base64"), format: "wav" }
}

const bodies = {
  rerank,
  transcribe: transcription,
  submitVideo: { model: model.id, prompt: "a harbor" },
  assignKeys: { key_hashes: ["h"] }
}

type WithBody = keyof typeof bodies

const hasBody = (name: Name): name is WithBody => name in bodies

/** Sends a valid request of the operation, unless another body or path is given. */
const call = (
  name: Name,
  { body, path = paths[name], ...ask }: Omit<Ask, "body"> & { body?: unknown; path?: string } = {}
) =>
  hasBody(name)
    ? post(path, body ?? bodies[name], ask)
    : Effect.flatMap(TestGateway, (gateway) =>
        gateway.ask(path, { method: name === "deleteFile" ? "DELETE" : "GET", ...ask })
      )

/** Requires the status, in an envelope with a message that begins so. */
const means = (name: Name, answer: Answer, status: number, message: string) => {
  inSet(name, answer)
  expect([name, answer.status]).toEqual([name, status])
  const { error } = envelopeOf(answer)
  expect([name, error.message.slice(0, message.length)]).toEqual([name, message])
  return error
}

const management = Effect.map(TestGateway, ({ managementKey }) => ({ key: managementKey }))

const failing = (reason: Reason) => Effect.fail(new ProviderError({ reason }))

/** How the providers of `test/rank` and `test/hear` fail. */
const failures = {
  broken: () => failing(new BadResponse({ description: "no JSON" })),
  busy: () => failing(new Overloaded({})),
  down: () => failing(new BadResponse({ description: "no JSON" })),
  faulty: () => Effect.die(new Error("a bug")),
  full: () => failing(new InputTooLarge({ message: "at most 4 images" })),
  hanging: () => Effect.never,
  picky: () => Effect.fail(invalidRequest("the query is a riddle"))
}

/** A provider of files: it breaks on the file `broken`, and has a bug on any other. */
const files: FileApi = {
  provider: "openai",
  upload: () => Effect.die("not used"),
  list: () => Effect.die("not used"),
  get: () => Effect.die("not used"),
  content: () => Effect.die("not used"),
  remove: (id) => (id === "broken" ? failing(new BadResponse({ description: "no JSON" })) : Effect.die("a bug"))
}

const film = makeUpstream()
film.check = ({ prompt }) => (prompt === "bug" ? Effect.die(new Error("a bug")) : Effect.void)

const gateway = layer(
  {
    circuits: { failures: 1 },
    bodyLimits: { rerank: 20_000, transcription: 20_000, transcriptionFile: 20_000, videos: 20_000 },
    deadlines: {
      rerankAttempt: Duration.millis(100),
      transcriptionAttempt: Duration.millis(100),
      transcription: Duration.millis(150)
    }
  },
  [
    ...Object.entries(failures).map(([name, fail]) => scripted({ name, rerank: fail, transcribe: fail })),
    scripted({ name: "hanging too", transcribe: failures.hanging }),
    film.offers
  ],
  { provider_a: files }
)

const asked = (name: "rerank" | "transcribe", ...only: ReadonlyArray<string>) =>
  call(name, { body: { ...bodies[name], provider: { only, order: only } } })

const spending = ["rerank", "transcribe", "submitVideo"] as const

it.layer(gateway, { excludeTestServices: true })("what a status means", (it) => {
  it.effect("400: a parameter is invalid, also by the provider's own check [spec L21 M22 N46 O9 R400]", () =>
    Effect.gen(function* () {
      const key = yield* management
      for (const name of spending) {
        const answer = yield* call(name, { body: { ...bodies[name], model: 7 } })
        means(name, answer, 400, "invalid request parameters: model")
        expect(issuePaths(answer)).toEqual(["model"])
      }
      means(
        "assignKeys",
        yield* call("assignKeys", { ...key, body: {} }),
        400,
        "invalid request parameters: key_hashes"
      )
      for (const name of ["rerank", "transcribe"] as const) {
        means(name, yield* asked(name, "picky"), 400, "invalid request parameters: the query is a riddle")
      }
    })
  )

  it.effect("401: there is no key, or an invalid one [spec B1 B4 J12 K3 L22 M23 N47 O10 R401]", () =>
    Effect.gen(function* () {
      for (const name of ["deleteFile", "currentKey", "rerank", "transcribe", "submitVideo", "assignKeys"] as const) {
        means(name, yield* call(name, { key: null }), 401, "missing authentication header")
        means(name, yield* call(name, { key: "nonsense" }), 401, "invalid API key")
      }
    })
  )

  it.effect("402: the credits do not suffice, and the message says to add some [spec L23 M24 N48 R402]", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const poor = yield* (yield* WorkspaceStore).create(workspace.organizationId, { name: "poor", slug: "poor" })
      const keys = yield* KeyStore
      const inPoor = yield* keys.create({ organizationId: poor.organizationId, workspaceId: poor.id, name: "k" })
      for (const name of spending) {
        const answer = yield* call(name, { key: Redacted.value(inPoor.plain) })
        const { message } = means(name, answer, 402, "insufficient credits: ")
        expect(message).toContain("Add credits to the workspace.")
      }
    })
  )

  it.effect("403: the key may not do this [spec J13 L24 M25 N49 O11 R403]", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const key = yield* management
      means("assignKeys", yield* call("assignKeys"), 403, "only management keys can perform this operation")
      for (const name of spending) means(name, yield* call(name, key), 403, "insufficient permissions: ")
      const other = yield* (yield* WorkspaceStore).create(workspace.organizationId, { name: "other", slug: "other" })
      const path = `${paths.deleteFile}?workspace_id=${other.id}`
      means("deleteFile", yield* call("deleteFile", { path }), 403, "insufficient permissions: ")
    })
  )

  it.effect("404: there is no such file, model or guardrail [spec J14 L25 M26 N50 O12 R404]", () =>
    Effect.gen(function* () {
      means("deleteFile", yield* call("deleteFile"), 404, "resource not found: ")
      means("assignKeys", yield* call("assignKeys", yield* management), 404, "resource not found: ")
      for (const name of spending) {
        const answer = yield* call(name, { body: { ...bodies[name], model: "nobody/none" } })
        means(name, answer, 404, 'resource not found: there is no model "nobody/none"')
      }
    })
  )

  it.effect("413: the payload is too large, for the gateway or for the provider [spec L26 M27 N51 R413]", () =>
    Effect.gen(function* () {
      for (const name of spending) {
        const answer = yield* call(name, { body: { ...bodies[name], padding: "x".repeat(1_100_000) } })
        means(name, answer, 413, "request payload too large: ")
      }
      const upload = form(
        { name: "model", value: "test/hear" },
        { name: "file", filename: "a.wav", value: "x".repeat(20_001) }
      )
      const { ask } = yield* TestGateway
      const answer = yield* ask(paths.transcribe, { method: "POST", headers: formHeaders, body: upload })
      means("transcribe", answer, 413, "request payload too large: ")
      for (const name of ["rerank", "transcribe"] as const) {
        means(name, yield* asked(name, "full"), 413, "request payload too large: at most 4 images")
      }
    })
  )

  it.effect("502: the provider fails [spec J17 L29 M30 R502]", () =>
    Effect.gen(function* () {
      for (const name of ["rerank", "transcribe"] as const) {
        const { metadata } = means(name, yield* asked(name, "broken"), 502, "provider returned error")
        expect(metadata).toMatchObject({
          provider: "broken",
          attempts: [{ outcome: "BadResponse", billed: "unknown" }]
        })
      }
      const { managementKey: key } = yield* TestGateway
      const stored = yield* post("/api/v1/byok", { provider: "openai", key: "sk-own" }, { key })
      expect(stored.status).toBe(201)
      const path = "/api/v1/files/broken?provider=provider_a"
      means("deleteFile", yield* call("deleteFile", { path }), 502, "provider returned error")
    })
  )

  it.effect("503: no provider is up [spec L30 M31 R503]", () =>
    Effect.gen(function* () {
      for (const name of ["rerank", "transcribe"] as const) {
        means(name, yield* asked(name, "down"), 502, "provider returned error")
        const answer = yield* asked(name, "down")
        const { metadata } = means(name, answer, 503, "service temporarily unavailable")
        expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0)
        expect(metadata?.["retry_after"]).toBe(Number(answer.headers["retry-after"]))
      }
    })
  )

  it.effect("504: the gateway's own time for a transcription is over [spec M32 R504]", () =>
    Effect.gen(function* () {
      const answer = yield* asked("transcribe", "hanging", "hanging too")
      means("transcribe", answer, 504, "the operation was aborted due to timeout")
    })
  )

  it.effect("529: the provider is overloaded [spec L32 M34 R529]", () =>
    Effect.gen(function* () {
      for (const name of ["rerank", "transcribe"] as const) {
        const answer = yield* asked(name, "busy")
        const { metadata } = means(name, answer, 529, "provider returned error")
        expect([metadata?.["provider"], answer.headers["retry-after"]]).toEqual(["busy", "1"])
      }
    })
  )
})

it.layer(gateway, { excludeTestServices: true })("what a status means", (it) => {
  it.effect("524: no provider answers in time [spec L31 M33 R524]", () =>
    Effect.gen(function* () {
      for (const name of ["rerank", "transcribe"] as const) {
        const { metadata } = means(name, yield* asked(name, "hanging"), 524, "request timed out, try again later")
        expect(metadata).toMatchObject({ provider: "hanging", attempts: [{ outcome: "Timeout", billed: "unknown" }] })
      }
    })
  )

  it.effect(
    "500: something unexpected, of which the message shows nothing [spec B1 B4 J16 K4 L28 M29 N53 O13 R500]",
    () =>
      Effect.gen(function* () {
        const { managementKey: key } = yield* TestGateway
        const unexpected = (name: Name, answer: Answer) => {
          means(name, answer, 500, "internal server error")
          expect(answer.text).not.toContain("bug")
        }
        for (const name of ["rerank", "transcribe"] as const) unexpected(name, yield* asked(name, "faulty"))
        unexpected("submitVideo", yield* call("submitVideo", { body: { ...bodies.submitVideo, prompt: "bug" } }))
        expect((yield* post("/api/v1/byok", { provider: "openai", key: "sk-own" }, { key })).status).toBe(201)
        unexpected("deleteFile", yield* call("deleteFile", { path: "/api/v1/files/f?provider=provider_a" }))
        const sql = yield* SqlClient
        yield* sql`ALTER TABLE guardrails RENAME TO guardrails_away`
        unexpected("assignKeys", yield* call("assignKeys", { key }))
        yield* sql`ALTER TABLE budgets RENAME TO budgets_away`
        unexpected("currentKey", yield* call("currentKey"))
      })
  )

  it.effect("503: the database is down, for operations that have the status [spec J18 R503]", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`ALTER TABLE files RENAME TO files_away`
      const answer = yield* call("deleteFile")
      const { metadata } = means("deleteFile", answer, 503, "service temporarily unavailable")
      expect([answer.headers["retry-after"], metadata?.["retry_after"]]).toEqual(["1", 1])
    })
  )
})
