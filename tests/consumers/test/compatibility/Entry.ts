/**
 * What the compatibility test runs: calls of the clients that people already have, against a
 * gateway process.
 *
 * To add a call:
 *
 * 1. Add an entry to the list of its area (`keys.ts`, `models.ts`, …). `run` makes the call with
 *    one of `gateway.clients` and checks the decoded result with `expect`. It passes if
 *    `expectation` is true, so an entry that differs checks the difference.
 * 2. Build, then run `vitest run --project compatibility --update` in `tests/consumers`. It writes
 *    the tables of `docs/reference/compatibility.md`. Add `-t "names > keys"` to run one area
 *    without the page.
 *
 * Entries of an area run one after another, on a gateway that the areas share: create what an entry
 * needs in its `run`, and expect nothing of what others create. A failure of a call is an entry of
 * its own. The list runs once for each set of wire names.
 */
import { expect } from "vitest"
import type { CompatibleGateway } from "./Gateways.ts"

export type ClientName = "@openrouter/sdk" | "openai" | "cohere-ai"

/** `differs` is a short sentence for the table: what is different, and why. */
export type Expectation = "works" | { readonly differs: string }

export interface Entry {
  readonly client: ClientName
  /**
   * The method, and after a colon the case if it is not the plain one: `rerank.rerank`,
   * `rerank.rerank: no credits`. Unique per client.
   */
  readonly call: string
  readonly expectation: Expectation
  /** The expectation with the wire names of `openrouter`, if it is another one. */
  readonly withWireNames?: Expectation
  readonly run: (gateway: CompatibleGateway) => Promise<void>
}

/** The error with which a call fails. Fails if the call succeeds. */
export const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (result) => {
      throw new Error(`The call succeeded with ${JSON.stringify(result)}`)
    },
    (error: unknown) => error
  )

/** For `toEqual` and `toMatchObject`: any text, and any number. */
export const aText: unknown = expect.any(String)
export const aNumber: unknown = expect.any(Number)
