// A short run of `pnpm hostile soak`. Its limits on time allow for a machine that is slow.
import { describe, expect, it } from "vitest"
import * as Soak from "../src/soak/index.ts"

describe("the Node client", () => {
  it(
    "keeps its limits, is charged at most once and leaves nothing behind on a network that fails",
    {
      timeout: 120_000
    },
    async () => {
      const result = await Soak.run({
        limits: { attempt: 1000, deadline: 3000, stall: 800, maxRetryAfter: 1100 },
        maxPauseMillis: 100,
        minutes: 0.1,
        seed: 20_261_122,
        workers: 12
      })
      expect(result.problems).toEqual([])
    }
  )
})
