/** Calls each upstream once with the gateway's own key, with the smallest request that it has. */
import * as KeyCheck from "@model-gateway/offers/KeyCheck"
import { Effect } from "effect"
import type { Offered } from "../Offered.ts"
import { type Finding, ok, problem, skipped } from "./Finding.ts"

const findingOf = (name: string, { isAccepted, message = "", outcome }: KeyCheck.Result): Finding => {
  if (isAccepted === true) return ok("upstreams", `${name} answers, and accepts the key of the gateway.`)
  if (isAccepted === false) {
    return problem("upstreams", `${name} refuses the key of the gateway: ${message}`, "model-gateway settings check")
  }
  return outcome === "Timeout" && message === ""
    ? problem("upstreams", `${name} did not answer within ${KeyCheck.timeLimit}.`)
    : problem("upstreams", `${name} did not answer as it should: ${message}`)
}

/** One finding for each upstream that the gateway has a key for. */
export const check = ({ offers, upstreams }: Offered["Service"]): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.forEach(
    upstreams.filter(({ credential }) => credential !== undefined),
    ({ name }) => {
      const own = offers.filter(({ credential, provider }) => provider === name && credential !== undefined)
      const cheapest = KeyCheck.cheapest(own)
      return cheapest?.credential === undefined
        ? Effect.succeed(skipped("upstreams", `${name} has no call that is cheap enough to try its key.`))
        : Effect.map(KeyCheck.check(cheapest, cheapest.credential), (result) => findingOf(name, result))
    },
    { concurrency: 8 }
  )
