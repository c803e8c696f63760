/**
 * Fills the data folder of a gateway with a month of use. Everything is done through the API of the
 * real executable, whose clock this process moves from request to request: 31 days pass in seconds.
 */
import { setTimeout as sleep } from "node:timers/promises"
import * as Api from "./Api.ts"
import type { Key, Known } from "./Known.ts"
import { random } from "./Random.ts"
import { startReceivers } from "./Receivers.ts"
import { day, days, hour, plan, rerankBody, transcriptionBody } from "./Requests.ts"
import { serve } from "./Service.ts"
import { addCredits, begin, created, keyNamed, type Manage } from "./Setup.ts"
import { startUpstreams } from "./Upstreams.ts"
import * as Videos from "./Videos.ts"

/** Requests that are planned beside videos. Some are rejected: a key is disabled, credits run out. */
const requests = 4950

/** Requests that are under way at the same time. */
const concurrency = 16

/** How fast the clock goes while requests are under way: what takes 2 ms seems to take 300. */
const speed = 150

/** While videos are made. The service waits for them by the machine's clock. */
const videoSpeed = 10

/** Of a call of an upstream, by the machine's clock. */
const timeLimit = "500 millis"

/** The last day, for the console's shortest ranges, and what is kept for a week. */
const refusals = (
  keys: ReadonlyArray<Key>,
  managementKey: string
): ReadonlyArray<readonly [path: string, Api.Call]> => {
  const numbers = random(3)
  const key = keys[0]?.key ?? ""
  const body = rerankBody(numbers, "sandbox/bm25")
  return Array.from({ length: 6 }).flatMap(
    () =>
      [
        ["/rerank", { body }],
        ["/rerank", { key: `mg_sk_${"x".repeat(38)}`, body }],
        ["/rerank", { key: managementKey, body }],
        ["/rerank", { key, body: rerankBody(numbers, "acme/rerank-2") }],
        ["/rerank", { key, body: { model: "sandbox/bm25", documents: [] } }],
        ["/rerank", { key, body: '{"model": ' }],
        ["/audio/transcriptions", { key, body: transcriptionBody(numbers, "acme/rerank") }],
        ["/rerank", { key: keyNamed(keys, "intern-1").key, body: rerankBody(numbers, "cohere/rerank-v3.5") }]
      ] satisfies ReadonlyArray<readonly [string, Api.Call]>
  )
}

/** Fills the folder. Returns when the gateway has ended. */
export const fill = async (dataDir: string): Promise<Known> => {
  const filledAt = Date.now()
  const start = filledAt - days * day
  const [upstreams, receivers] = await Promise.all([
    startUpstreams({ random: random(1), isBerlinDead: false, timeLimit }),
    startReceivers(0)
  ])
  const serveAt = (time: number) =>
    serve({
      dataDir,
      settings: upstreams.settings,
      environment: {
        MODEL_GATEWAY_INITIAL_CREDITS: "150",
        MODEL_GATEWAY_FREE_DAILY_REQUESTS: "12",
        // Else each wrong key makes the next one wait longer.
        MODEL_GATEWAY_FAILED_AUTHENTICATIONS_REQUESTS: "10000",
        MODEL_GATEWAY_LOG_LEVEL: "Error"
      },
      clock: { time, speed }
    })
  let service = await serveAt(start)
  let api = Api.connect(service.origin)
  const to = (time: number) => service.move({ time, speed })
  const receiver = (path: string) => `https://localhost:${receivers.port}${path}`

  try {
    const managementKey = await service.prints(/management key +(mg_mk_\w+)\s/)
    const firstKey = await service.prints(/ordinary key +(mg_sk_\w+)\s/)
    const manage: Manage = (method, path, body) =>
      api.call(method, path, { key: managementKey, ...(body === undefined ? {} : { body }) })
    const begun = await begin({ manage, firstKey, filledAt, receiver })
    const { guardrails, keys, workspaces } = begun
    const named = (name: string) => keyNamed(keys, name)
    const creditsOf = async (workspace: string) =>
      Api.number(await manage("GET", `/workspaces/${workspace}`), "data", "credits")

    const numbers = random(2)
    const makers = ["video-ads", "storyboard", "podcast-pipeline", "batch-nightly"].map(named)
    const made: Array<Videos.Made> = []
    const makeVideos = async (): Promise<void> => {
      await service.move({ time: 0, speed: videoSpeed })
      upstreams.fal.next("succeed", "succeed", "fail")
      made.push(
        ...(await Videos.make(
          api,
          Array.from({ length: 9 }, () => numbers.pick(makers)),
          numbers
        ))
      )
    }
    const maker = named("video-ads")
    let cancelled = ""
    let expired = ""
    const destinations = { delivering: "", failing: "", paused: "" }
    let failedRequest = ""
    let fallbackRequest = ""

    const traced = async (marks: string): Promise<string> => {
      const body = rerankBody(numbers, "acme/rerank", marks)
      return (await api.send("POST", "/rerank", { key: named("search-api").key, body })).requestId
    }

    /** What happens beside the requests, and when. */
    const events: ReadonlyArray<readonly [at: number, happen: () => Promise<unknown>]> = [
      // The last is among the seven days of the console's rates on the next day, too.
      ...[3, 9, 16, 24.25].map((n) => [start + n * day, makeVideos] as const),
      [start + 12 * day, () => manage("PATCH", `/keys/${named("old-mobile").hash}`, { disabled: true })],
      [
        start + 14 * day,
        () => manage("PATCH", `/keys/${named("load-test").hash}`, { limit: 1, limit_reset: "weekly" })
      ],
      // For a day, this workspace has no credits.
      [
        start + 20 * day,
        async () =>
          addCredits(manage, workspaces.support, -(await creditsOf(workspaces.support)), "Moved to the new contract")
      ],
      [start + 21 * day, () => addCredits(manage, workspaces.support, 25, "Second invoice")],
      [start + 22 * day, () => manage("PATCH", `/guardrails/${guardrails.interns}`, { limit_usd: 0.03 })],
      [start + 26 * day, async () => (expired = await Videos.submit(api, maker, "acme/film"))],
      [start + 28 * day, async () => (cancelled = await Videos.cancel(api, maker, "acme/film"))],
      [start + 29 * day, upstreams.endBerlin],
      [start + 29.1 * day, () => manage("POST", `/workspaces/${workspaces.research}/webhook-secret/rotate`, {})],
      // The process dies while an upstream has a request. Nobody knows whether it was billed.
      [
        filledAt - 30 * hour,
        async () => {
          const body = rerankBody(numbers, "cohere/rerank-v3.5", "[cohere hangs]")
          const lost = api.send("POST", "/rerank", { key: firstKey, body }).catch(() => undefined)
          while (Api.list(await manage("GET", "/reservations?state=open"), "data").length === 0) await sleep(5)
          await service.kill()
          await lost
          api.close()
          service = await serveAt(filledAt - 29.9 * hour)
          api = Api.connect(service.origin)
        }
      ],
      [filledAt - 26 * hour, makeVideos],
      // These webhooks are given up at once. After a 500, it takes 32 hours and eight attempts.
      [
        filledAt - 25.5 * hour,
        async () => {
          for (const _ of ["first", "second"]) {
            const id = await Videos.submit(api, maker, "acme/veo", { callback_url: receiver("/gone") })
            await Videos.whileIn(api, [maker, id], "pending", "in_progress")
          }
        }
      ],
      [
        filledAt - 25 * hour,
        () => Promise.all(refusals(keys, managementKey).map(([path, call]) => api.send("POST", path, call)))
      ],
      // Late, because each event is sent to a failing destination again and again.
      [
        filledAt - 2 * hour,
        async () => {
          const destination = (fields: object) => created(manage, "/observability/destinations", { ...fields })
          const config = { url: receiver("/ok") }
          destinations.delivering = await destination({ name: "Billing", type: "webhook", config })
          const failing = { endpoint: receiver("/failing") }
          destinations.failing = await destination({ name: "Traces", type: "otel-collector", config: failing })
          destinations.paused = await destination({ name: "Old warehouse", type: "webhook", config, enabled: false })
        }
      ],
      [
        filledAt - 30_000,
        async () => {
          failedRequest = await traced("[frankfurt 500] [cohere 503]")
          fallbackRequest = await traced("")
          const used = Api.number(await manage("GET", `/guardrails/${guardrails.production}`), "data", "usage")
          await manage("PATCH", `/guardrails/${guardrails.production}`, { limit_usd: Number((used / 0.9).toFixed(6)) })
          const left = await creditsOf(workspaces.support)
          await addCredits(manage, workspaces.support, 0.2 - left, "Correction after the audit")
        }
      ]
    ]

    const planned = plan({
      random: numbers,
      start: start + hour,
      end: filledAt - 60_000,
      requests,
      keys: keys.length
    })
    let next = 0
    for (const [at, happen] of events.toSorted(([one], [other]) => one - other)) {
      while ((planned[next]?.at ?? at) < at) {
        const chunk = planned.slice(next, next + concurrency).filter((request) => request.at < at)
        await to(chunk[0]?.at ?? at)
        await Promise.all(
          chunk.map(({ body, key, path }) => api.send("POST", path, { key: keys[key]?.key ?? "", body }))
        )
        next += chunk.length
      }
      await to(at)
      await happen()
    }

    const reservation = Api.list(await manage("GET", "/reservations?state=abandoned"), "data")[0]
    const ended = await Videos.byStatus(api, made)
    await service.stop()
    return {
      ...begun,
      filledAt,
      receiverPort: receivers.port,
      managementKey,
      expiringKey: named("demo"),
      disabledKey: named("old-mobile"),
      destinations,
      failedRequest,
      fallbackRequest,
      abandonedReservation: Api.text(reservation, "id"),
      videos: { completed: ended("completed"), failed: ended("failed"), cancelled, expired }
    }
  } finally {
    api.close()
    await service.kill()
    await Promise.all([upstreams.close(), receivers.close()])
  }
}
