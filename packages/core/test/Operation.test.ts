import { describe, expect, it } from "@effect/vitest"
import { Files, Gateway, GatewayApi, GatewayError, Keys, Operation, Rerank } from "@model-gateway/core"
import * as Authorization from "@model-gateway/core/unstable/Authorization"
import * as RequestBody from "@model-gateway/core/unstable/RequestBody"
import { Effect } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { type Expected, operations } from "./operations.ts"

const rows = Object.entries<Expected>(operations)

interface Declared {
  readonly operation: Operation.Operation
  readonly endpoint: HttpApiEndpoint.Top
}

const declared: Array<Declared> = []
const undeclared: Array<string> = []
HttpApi.reflect(GatewayApi.GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const operation = Operation.of(endpoint)
    if (operation === undefined) undeclared.push(endpoint.identifier)
    else declared.push({ operation, endpoint })
  }
})

const names = (holds: (declared: Declared) => boolean): ReadonlyArray<string> =>
  declared.filter(holds).map(({ operation }) => operation.identifier)

/** In any order: the order in which the groups are listed is not part of the contract. */
const inAnyOrder = (names: ReadonlyArray<string>): ReadonlySet<string> => new Set(names)

const has =
  (status: number) =>
  ({ operation }: Declared): boolean =>
    operation.error.some((schema) => GatewayError.statusOf(schema) === status)

const accepts =
  (contentType: string) =>
  ({ endpoint }: Declared): boolean =>
    endpoint.payload.has(contentType)

describe("the traits of the operations", () => {
  it("are stated by all", () => {
    expect(undeclared).toEqual([])
    expect(Operation.of(GatewayApi.GatewayApi.groups.files.endpoints.getFile)).toBe(Files.getFileOperation)
  })

  it("have the names of the client's methods", () => {
    const methods = Object.keys(
      Gateway.fromClient({ call: () => Effect.never, open: () => Effect.never, workspaceId: undefined })
    )
    const operations = new Set(names(() => true))
    expect(methods.filter((method) => !operations.has(method))).toEqual([])
  })

  it("say who may call, as the specification and the contract do", () => {
    expect(new Map(declared.map(({ operation }) => [operation.identifier, operation.access]))).toEqual(
      new Map(rows.map(([identifier, [, , , access]]) => [identifier, access]))
    )
  })

  it("let a viewer read, and state what an operator may change; the rest needs an admin", () => {
    const managed = declared.filter(({ operation }) => operation.access === "management key")
    const needing = (role: string) =>
      inAnyOrder(
        managed.filter(({ operation }) => operation.role === role).map(({ operation }) => operation.identifier)
      )
    const reading = managed.filter(({ endpoint }) => endpoint.method === "GET")
    // The settings tell where things are, the sessions where people are.
    const forAdmins = ["listSettings", "listConsoleSessions"]
    const readByAll = reading.map(({ operation }) => operation.identifier).filter((name) => !forAdmins.includes(name))
    expect(needing("viewer")).toEqual(inAnyOrder(readByAll))
    expect(needing("operator")).toEqual(
      inAnyOrder([
        "createKey",
        "createEphemeralKeyFor",
        "updateKey",
        "rotateKey",
        "deleteKey",
        "createGuardrail",
        "updateGuardrail",
        "deleteGuardrail",
        "assignKeys",
        "unassignKeys",
        "addCredits"
      ])
    )
    expect(needing("admin")).toEqual(
      inAnyOrder([
        "createByokKey",
        "updateByokKey",
        "deleteByokKey",
        "testByokKey",
        "createAlert",
        "updateAlert",
        "deleteAlert",
        "testAlert",
        "createDestination",
        "updateDestination",
        "deleteDestination",
        "testDestination",
        "createWorkspace",
        "updateWorkspace",
        "deleteWorkspace",
        "rotateWebhookSecret",
        "redeliverWebhook",
        "settleReservation",
        "dismissReservation",
        "listSettings",
        "listConsoleSessions",
        "endConsoleSession",
        "endConsoleSessions"
      ])
    )
    // What any key may call, a viewer may only read. An estimate changes nothing.
    const others = declared.filter(({ operation }) => operation.access === "any key")
    for (const { operation, endpoint } of others) {
      const isRead = endpoint.method === "GET" || operation.identifier === "estimate"
      expect([operation.identifier, operation.role]).toEqual([operation.identifier, isRead ? "viewer" : "operator"])
    }
  })

  it("close what is not about one workspace to management keys that are restricted to some", () => {
    const changing = names(({ operation }) => operation.scope === "workspace" && operation.role === "admin")
    expect(changing).toEqual([])
    expect(names(({ operation }) => operation.access !== "management key" && operation.scope !== "workspace")).toEqual(
      []
    )
  })

  it("ask the console for a recent sign-in before a secret is shown, a key changes, credits are added or something is deleted", () => {
    const needing = names(({ operation }) => operation.needsRecentSignIn)
    const deleting = names(({ endpoint }) => endpoint.method === "DELETE")
    expect(inAnyOrder(needing)).toEqual(
      inAnyOrder([
        "createKey",
        "updateKey",
        "rotateKey",
        "createDestination",
        "rotateWebhookSecret",
        "addCredits",
        ...deleting
      ])
    )
    // It answers with a 403.
    for (const { endpoint, operation } of declared.filter(({ operation }) => operation.needsRecentSignIn)) {
      const statuses = operation.error.map((schema) => GatewayError.statusOf(schema))
      expect([endpoint.identifier, statuses.includes(403)]).toEqual([endpoint.identifier, true])
    }
  })

  it("are authorized before their body is read", () => {
    for (const { endpoint, operation } of declared) {
      expect([operation.identifier, ...endpoint.middlewares]).toEqual([
        operation.identifier,
        RequestBody.RequestBody,
        Authorization.Authorization
      ])
    }
  })

  it("have a 403 where not every kind of key may call", () => {
    expect(names((each) => each.operation.access !== "any key" && !has(403)(each))).toEqual([])
  })

  it("let exactly rerank, transcription and video submission cost money", () => {
    expect(inAnyOrder(names(({ operation }) => Operation.isPaid(operation)))).toEqual(
      inAnyOrder(["rerank", "cohereRerank", "cohereRerankV1", "transcribe", "submitVideo"])
    )
  })

  it("limit per key what the specification and the contract limit", () => {
    const limited = rows.filter(([, [, , errors]]) => errors.includes(429)).map(([identifier]) => identifier)
    expect(inAnyOrder(names(({ operation }) => Operation.isRateLimited(operation)))).toEqual(inAnyOrder(limited))
  })

  it("refuse unknown fields where they manage something or filter a list, and never of the specification", () => {
    const refusing = declared.filter(({ operation }) => operation.unknownFields === "refused")
    const management = declared.filter(({ operation }) => operation.access === "management key")
    const lists = ["listFiles", "listVideos", "listModels", "countModels"]
    expect(inAnyOrder(refusing.map(({ operation }) => operation.identifier))).toEqual(
      inAnyOrder([
        ...management.map(({ operation }) => operation.identifier).filter((name) => name !== "assignKeys"),
        "createEphemeralKey",
        ...lists
      ])
    )
    // A list without parameters ignores all of them.
    const withQuery = declared.filter(({ endpoint }) => endpoint.method === "GET" && endpoint.query !== undefined)
    expect(
      inAnyOrder(
        withQuery
          .filter(({ operation }) => operation.unknownFields === "ignored")
          .map(({ operation }) => operation.identifier)
      )
    ).toEqual(inAnyOrder(["getFile", "fileContent", "getVideo", "videoContent", "getGeneration"]))
  })

  it("name a body limit exactly where the operation has a 413", () => {
    const named = names(({ operation: { bodyLimit } }) => bodyLimit.json !== undefined || bodyLimit.form !== undefined)
    expect(named).toEqual(names(has(413)))
  })

  it("name the limit of a form exactly where the operation accepts one, and of JSON only there", () => {
    expect(names(({ operation }) => operation.bodyLimit.form !== undefined)).toEqual(
      names(accepts("multipart/form-data"))
    )
    for (const each of declared) {
      if (each.operation.bodyLimit.json !== undefined) expect(accepts("application/json")(each)).toBe(true)
    }
  })

  it("allow a repetition by key exactly where the endpoint accepts an Idempotency-Key", () => {
    const byKey = names(({ operation }) => operation.idempotency === "by key")
    expect(inAnyOrder(byKey)).toEqual(
      inAnyOrder([
        "uploadFile",
        "rerank",
        "cohereRerank",
        "cohereRerankV1",
        "transcribe",
        "submitVideo",
        "createKey",
        "rotateKey",
        "addCredits"
      ])
    )
    expect(names(({ endpoint }) => endpoint.headers !== undefined)).toEqual(byKey)
  })

  it("allow every repetition except of a POST that does its work again", () => {
    expect(inAnyOrder(names(({ operation }) => operation.idempotency === "never"))).toEqual(
      inAnyOrder([
        "createGuardrail",
        "createByokKey",
        "createWorkspace",
        "rotateWebhookSecret",
        "createDestination",
        "testDestination",
        "testByokKey",
        "createAlert",
        "testAlert"
      ])
    )
  })

  it("let an ephemeral key be restricted to what an ordinary key may call, except creating ephemeral keys", () => {
    const callable = names(({ operation }) => operation.access !== "management key")
    expect(new Set([...Keys.ephemeralOperations, "createEphemeralKey"])).toEqual(new Set(callable))
    expect(Keys.ephemeralOperations).toHaveLength(callable.length - 1)
  })
})

describe("an operation", () => {
  it("is recognized among other exports of its file", () => {
    expect(Operation.isOperation(Rerank.rerankOperation)).toBe(true)
    for (const other of [Rerank.Request, Rerank.rerankEndpoint, GatewayError.BadRequest, "rerank", undefined]) {
      expect(Operation.isOperation(other)).toBe(false)
    }
  })
})
