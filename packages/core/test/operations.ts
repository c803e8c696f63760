/**
 * What is expected of each operation, stated once for all tests of the client and the contract. A
 * new operation needs one row.
 */
import type { Gateway, Operation } from "@model-gateway/core"
import { type Effect, Stream } from "effect"

type Client = Gateway.Gateway["Service"]

/** What a call returns of the response. Default: all of it. */
export type Returns = "data" | "data.count" | "nothing"

/** A call has the name of each parameter of the path as its value. */
export type Expected = readonly [
  line: string,
  success: number,
  errors: ReadonlyArray<number>,
  access: Operation.Access,
  call: (client: Client) => Effect.Effect<unknown, unknown>,
  returns?: Returns
]

const ranking = { model: "m", query: "q", documents: ["d"] } as const

const managing = [400, 401, 403, 404, 500] as const
const rateLimited = [400, 401, 403, 404, 429, 500, 503] as const
const storedFile = [400, 401, 403, 404, 429, 500, 502, 503] as const
const reranking = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529] as const

/** The statuses that the specification lists for the six, and those of the other operations. */
export const operations = {
  deleteFile: [
    "DELETE /api/v1/files/:file_id",
    200,
    [401, 403, 404, 429, 500, 502, 503],
    "any key",
    (client) => client.deleteFile("file_id")
  ],
  currentKey: ["GET /api/v1/key", 200, [401, 500], "any key", (client) => client.currentKey, "data"],
  rerank: ["POST /api/v1/rerank", 200, reranking, "ordinary key", (client) => client.rerank(ranking)],
  cohereRerank: ["POST /api/v1/v2/rerank", 200, reranking, "ordinary key", (client) => client.cohereRerank(ranking)],
  cohereRerankV1: [
    "POST /api/v1/v1/rerank",
    200,
    reranking,
    "ordinary key",
    (client) => client.cohereRerankV1(ranking)
  ],
  transcribe: [
    "POST /api/v1/audio/transcriptions",
    200,
    [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529],
    "ordinary key",
    (client) => client.transcribe({ model: "m", input_audio: { data: "AAAA", format: "wav" } })
  ],
  submitVideo: [
    "POST /api/v1/videos",
    202,
    [400, 401, 402, 403, 404, 413, 429, 500],
    "ordinary key",
    (client) => client.submitVideo({ model: "m" })
  ],
  assignKeys: [
    "POST /api/v1/guardrails/:id/assignments/keys",
    200,
    managing,
    "management key",
    (client) => client.assignKeys("id", { key_hashes: ["h"] })
  ],
  uploadFile: [
    "POST /api/v1/files",
    200,
    [400, 401, 403, 404, 413, 429, 500, 502, 503],
    "any key",
    (client) => client.uploadFile({ file: new Uint8Array(1), purpose: "p" })
  ],
  listFiles: ["GET /api/v1/files", 200, storedFile, "any key", (client) => client.listFiles()],
  getFile: ["GET /api/v1/files/:file_id", 200, storedFile, "any key", (client) => client.getFile("file_id")],
  fileContent: [
    "GET /api/v1/files/:file_id/content",
    200,
    storedFile,
    "any key",
    (client) => Stream.runDrain(client.fileContent("file_id"))
  ],
  listVideos: ["GET /api/v1/videos", 200, rateLimited, "any key", (client) => client.listVideos()],
  getVideo: ["GET /api/v1/videos/:id", 200, rateLimited, "any key", (client) => client.getVideo("id")],
  videoContent: [
    "GET /api/v1/videos/:id/content",
    200,
    rateLimited,
    "any key",
    (client) => Stream.runDrain(client.videoContent("id"))
  ],
  cancelVideo: ["POST /api/v1/videos/:id/cancel", 200, rateLimited, "any key", (client) => client.cancelVideo("id")],
  listModels: ["GET /api/v1/models", 200, rateLimited, "any key", (client) => client.listModels()],
  countModels: [
    "GET /api/v1/models/count",
    200,
    rateLimited,
    "any key",
    (client) => client.countModels(),
    "data.count"
  ],
  getModel: [
    "GET /api/v1/model/:author/:slug",
    200,
    rateLimited,
    "any key",
    (client) => client.getModel("author/slug"),
    "data"
  ],
  listModelEndpoints: [
    "GET /api/v1/models/:author/:slug/endpoints",
    200,
    rateLimited,
    "any key",
    (client) => client.listModelEndpoints("author/slug"),
    "data"
  ],
  listVideoModels: ["GET /api/v1/videos/models", 200, rateLimited, "any key", (client) => client.listVideoModels],
  listProviders: ["GET /api/v1/providers", 200, rateLimited, "any key", (client) => client.listProviders],
  getProviderHealth: [
    "GET /api/v1/providers/health",
    200,
    managing,
    "management key",
    (client) => client.getProviderHealth
  ],
  estimate: [
    "POST /api/v1/estimate",
    200,
    [400, 401, 403, 404, 413, 429, 500, 503],
    "any key",
    (client) => client.estimate({ operation: "rerank", request: ranking }),
    "data"
  ],
  createEphemeralKey: [
    "POST /api/v1/keys/ephemeral",
    201,
    [400, 401, 403, 429, 500],
    "ordinary key",
    (client) => client.createEphemeralKey()
  ],
  createEphemeralKeyFor: [
    "POST /api/v1/keys/:hash/ephemeral",
    201,
    managing,
    "management key",
    (client) => client.createEphemeralKeyFor("hash")
  ],
  createKey: ["POST /api/v1/keys", 201, managing, "management key", (client) => client.createKey({ name: "n" })],
  listKeys: ["GET /api/v1/keys", 200, managing, "management key", (client) => client.listKeys()],
  getKey: ["GET /api/v1/keys/:hash", 200, managing, "management key", (client) => client.getKey("hash"), "data"],
  updateKey: [
    "PATCH /api/v1/keys/:hash",
    200,
    managing,
    "management key",
    (client) => client.updateKey("hash", { disabled: true }),
    "data"
  ],
  rotateKey: ["POST /api/v1/keys/:hash/rotate", 200, managing, "management key", (client) => client.rotateKey("hash")],
  deleteKey: [
    "DELETE /api/v1/keys/:hash",
    200,
    managing,
    "management key",
    (client) => client.deleteKey("hash"),
    "nothing"
  ],
  createGuardrail: [
    "POST /api/v1/guardrails",
    201,
    managing,
    "management key",
    (client) => client.createGuardrail({ name: "n" }),
    "data"
  ],
  listGuardrails: ["GET /api/v1/guardrails", 200, managing, "management key", (client) => client.listGuardrails()],
  getGuardrail: [
    "GET /api/v1/guardrails/:id",
    200,
    managing,
    "management key",
    (client) => client.getGuardrail("id"),
    "data"
  ],
  updateGuardrail: [
    "PATCH /api/v1/guardrails/:id",
    200,
    managing,
    "management key",
    (client) => client.updateGuardrail("id", { name: "n" }),
    "data"
  ],
  deleteGuardrail: [
    "DELETE /api/v1/guardrails/:id",
    200,
    managing,
    "management key",
    (client) => client.deleteGuardrail("id"),
    "nothing"
  ],
  unassignKeys: [
    "POST /api/v1/guardrails/:id/assignments/keys/remove",
    200,
    managing,
    "management key",
    (client) => client.unassignKeys("id", { key_hashes: ["h"] })
  ],
  listAllAssignments: [
    "GET /api/v1/guardrails/assignments/keys",
    200,
    managing,
    "management key",
    (client) => client.listAllAssignments()
  ],
  listAssignments: [
    "GET /api/v1/guardrails/:id/assignments/keys",
    200,
    managing,
    "management key",
    (client) => client.listAssignments("id")
  ],
  createWorkspace: [
    "POST /api/v1/workspaces",
    201,
    managing,
    "management key",
    (client) => client.createWorkspace({ name: "n", slug: "n" }),
    "data"
  ],
  listWorkspaces: ["GET /api/v1/workspaces", 200, managing, "management key", (client) => client.listWorkspaces()],
  getWorkspace: [
    "GET /api/v1/workspaces/:id",
    200,
    managing,
    "management key",
    (client) => client.getWorkspace("id"),
    "data"
  ],
  updateWorkspace: [
    "PATCH /api/v1/workspaces/:id",
    200,
    managing,
    "management key",
    (client) => client.updateWorkspace("id", { name: "n" }),
    "data"
  ],
  deleteWorkspace: [
    "DELETE /api/v1/workspaces/:id",
    200,
    managing,
    "management key",
    (client) => client.deleteWorkspace("id"),
    "nothing"
  ],
  getCredits: [
    "GET /api/v1/credits",
    200,
    [400, 401, 403, 500],
    "management key",
    (client) => client.getCredits(),
    "data"
  ],
  listCreditLedger: [
    "GET /api/v1/credits/ledger",
    200,
    [400, 401, 403, 500],
    "management key",
    (client) => client.listCreditLedger()
  ],
  listReservations: [
    "GET /api/v1/reservations",
    200,
    managing,
    "management key",
    (client) => client.listReservations()
  ],
  settleReservation: [
    "POST /api/v1/reservations/:id/settle",
    200,
    managing,
    "management key",
    (client) => client.settleReservation("id", { cost: 1 }),
    "data"
  ],
  dismissReservation: [
    "POST /api/v1/reservations/:id/dismiss",
    200,
    managing,
    "management key",
    (client) => client.dismissReservation("id"),
    "data"
  ],
  testByokKey: [
    "POST /api/v1/byok/:id/test",
    200,
    managing,
    "management key",
    (client) => client.testByokKey("id"),
    "data"
  ],
  testDestination: [
    "POST /api/v1/observability/destinations/:id/test",
    200,
    managing,
    "management key",
    (client) => client.testDestination("id"),
    "data"
  ],
  listConsoleSessions: [
    "GET /api/v1/console/sessions",
    200,
    managing,
    "management key",
    (client) => client.listConsoleSessions
  ],
  endConsoleSession: [
    "DELETE /api/v1/console/sessions/:id",
    200,
    managing,
    "management key",
    (client) => client.endConsoleSession("id")
  ],
  endConsoleSessions: [
    "DELETE /api/v1/console/sessions",
    200,
    managing,
    "management key",
    (client) => client.endConsoleSessions
  ],
  listInstances: [
    "GET /api/v1/instances",
    200,
    [400, 401, 403, 500],
    "management key",
    (client) => client.listInstances
  ],
  listSettings: ["GET /api/v1/settings", 200, [400, 401, 403, 500], "management key", (client) => client.listSettings],
  addCredits: [
    "POST /api/v1/workspaces/:id/credits",
    200,
    managing,
    "management key",
    (client) => client.addCredits("id", { amount: 1 }),
    "data"
  ],
  rotateWebhookSecret: [
    "POST /api/v1/workspaces/:id/webhook-secret/rotate",
    200,
    managing,
    "management key",
    (client) => client.rotateWebhookSecret("id"),
    "data"
  ],
  listWebhookDeliveries: [
    "GET /api/v1/webhooks/deliveries",
    200,
    managing,
    "management key",
    (client) => client.listWebhookDeliveries()
  ],
  getWebhookDelivery: [
    "GET /api/v1/webhooks/deliveries/:id",
    200,
    managing,
    "management key",
    (client) => client.getWebhookDelivery("id"),
    "data"
  ],
  redeliverWebhook: [
    "POST /api/v1/webhooks/deliveries/:id/redeliver",
    200,
    managing,
    "management key",
    (client) => client.redeliverWebhook("id"),
    "data"
  ],
  createByokKey: [
    "POST /api/v1/byok",
    201,
    managing,
    "management key",
    (client) => client.createByokKey({ provider: "p", key: "k" }),
    "data"
  ],
  listByokKeys: ["GET /api/v1/byok", 200, managing, "management key", (client) => client.listByokKeys()],
  getByokKey: ["GET /api/v1/byok/:id", 200, managing, "management key", (client) => client.getByokKey("id"), "data"],
  updateByokKey: [
    "PATCH /api/v1/byok/:id",
    200,
    managing,
    "management key",
    (client) => client.updateByokKey("id", { disabled: true }),
    "data"
  ],
  deleteByokKey: [
    "DELETE /api/v1/byok/:id",
    200,
    managing,
    "management key",
    (client) => client.deleteByokKey("id"),
    "nothing"
  ],
  createAlert: [
    "POST /api/v1/alerts",
    201,
    managing,
    "management key",
    (client) =>
      client.createAlert({
        name: "n",
        kind: "key_expires",
        threshold: 5,
        target: { type: "webhook", url: "https://a.example" }
      }),
    "data"
  ],
  listAlerts: ["GET /api/v1/alerts", 200, managing, "management key", (client) => client.listAlerts()],
  listAlertFirings: [
    "GET /api/v1/alerts/firings",
    200,
    managing,
    "management key",
    (client) => client.listAlertFirings()
  ],
  getAlert: ["GET /api/v1/alerts/:id", 200, managing, "management key", (client) => client.getAlert("id"), "data"],
  updateAlert: [
    "PATCH /api/v1/alerts/:id",
    200,
    managing,
    "management key",
    (client) => client.updateAlert("id", { enabled: false }),
    "data"
  ],
  deleteAlert: [
    "DELETE /api/v1/alerts/:id",
    200,
    managing,
    "management key",
    (client) => client.deleteAlert("id"),
    "nothing"
  ],
  testAlert: [
    "POST /api/v1/alerts/:id/test",
    200,
    managing,
    "management key",
    (client) => client.testAlert("id"),
    "data"
  ],
  createDestination: [
    "POST /api/v1/observability/destinations",
    201,
    managing,
    "management key",
    (client) => client.createDestination({ name: "n", type: "webhook", config: { url: "https://a.example" } })
  ],
  listDestinations: [
    "GET /api/v1/observability/destinations",
    200,
    managing,
    "management key",
    (client) => client.listDestinations()
  ],
  getDestination: [
    "GET /api/v1/observability/destinations/:id",
    200,
    managing,
    "management key",
    (client) => client.getDestination("id"),
    "data"
  ],
  updateDestination: [
    "PATCH /api/v1/observability/destinations/:id",
    200,
    managing,
    "management key",
    (client) => client.updateDestination("id", { enabled: false }),
    "data"
  ],
  deleteDestination: [
    "DELETE /api/v1/observability/destinations/:id",
    200,
    managing,
    "management key",
    (client) => client.deleteDestination("id"),
    "nothing"
  ],
  getGeneration: [
    "GET /api/v1/generation",
    200,
    [400, 401, 403, 404, 500, 503],
    "any key",
    (client) => client.getGeneration("id"),
    "data"
  ],
  listGenerations: ["GET /api/v1/generations", 200, managing, "management key", (client) => client.listGenerations()],
  listRejectedRequests: [
    "GET /api/v1/requests/rejected",
    200,
    managing,
    "management key",
    (client) => client.listRejectedRequests()
  ],
  listAudit: ["GET /api/v1/audit", 200, managing, "management key", (client) => client.listAudit()],
  listActivity: ["GET /api/v1/activity", 200, managing, "management key", (client) => client.listActivity()]
} as const satisfies { readonly [Op in keyof Client]: Expected }
