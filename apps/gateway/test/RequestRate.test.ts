/** The rate limit of a key, through the executable: over plain HTTP, and with the client. */
import { createClient, NotFound, TooManyRequests } from "@model-gateway/node/promise"
import { describe, expect, it } from "vitest"
import { firstKey, folder, serve } from "./Executable.ts"

/** No request is regained while the test runs, however slow the machine is. */
const limited = (requests: number) => ({
  MODEL_GATEWAY_RATE_LIMIT_REQUESTS: String(requests),
  MODEL_GATEWAY_RATE_LIMIT_WINDOW: "1 day"
})

const unknownFile = "file_none"

/** How many answers have each status. */
const countsOf = (statuses: ReadonlyArray<number>): Readonly<Record<number, number>> => {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe("the rate limit of a key", () => {
  it("counts requests for what does not exist, and invalid ones [spec T11 L27 R429]", async () => {
    const gateway = await serve(folder(), [], limited(40))
    const authorization = `Bearer ${await firstKey(gateway)}`
    const get = () => fetch(`${gateway.origin}/api/v1/files/${unknownFile}`, { headers: { authorization } })
    const invalid = () =>
      fetch(`${gateway.origin}/api/v1/rerank`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: "{}"
      })
    const statusesOf = async (count: number, ask: () => Promise<Response>) =>
      countsOf(
        await Promise.all(
          Array.from({ length: count }, async () => {
            const response = await ask()
            await response.arrayBuffer()
            expect(response.headers.has("retry-after")).toBe(response.status === 429)
            return response.status
          })
        )
      )
    expect(await statusesOf(20, get)).toEqual({ 404: 20 })
    expect(await statusesOf(80, invalid)).toEqual({ 400: 20, 429: 60 })
    expect(await statusesOf(80, get)).toEqual({ 429: 80 })
    // GET /key has no 429.
    const own = () => fetch(`${gateway.origin}/api/v1/key`, { headers: { authorization } })
    expect(await statusesOf(20, own)).toEqual({ 200: 20 })
  })

  it("is TooManyRequests in the client, with the seconds to wait, also in a flood of calls for what does not exist [spec T11 J15]", async () => {
    const gateway = await serve(folder(), [], limited(20))
    await using client = await createClient({
      baseUrl: `${gateway.origin}/api/v1`,
      apiKey: await firstKey(gateway)
    })
    const failures = await Promise.all(
      Array.from({ length: 80 }, () => client.deleteFile(unknownFile).catch((error: unknown) => error))
    )
    const refused = failures.filter((failure) => failure instanceof TooManyRequests)
    expect(failures.filter((failure) => failure instanceof NotFound)).toHaveLength(20)
    expect(refused).toHaveLength(60)
    // A request is regained in 72 minutes.
    for (const { retryAfter } of refused) expect(Math.ceil((retryAfter ?? 0) / 60)).toBe(72)
  })
})
