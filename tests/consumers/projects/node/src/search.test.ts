/** The program without a gateway: one that is scripted stands in for it. */
import { Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Effect } from "effect"
import assert from "node:assert/strict"
import { test } from "node:test"
import { search } from "./search.ts"

const found = Samples.rerankResponse.results[0]?.document.text

void test("asks again after a 503", () =>
  Effect.gen(function* () {
    assert.equal(yield* search("pears", ["apples", "pears"]), found)
    const sent = yield* Recorder.of("rerank")
    assert.deepEqual(
      sent.map(({ outcome }) => outcome),
      [503, 200]
    )
  }).pipe(
    Effect.provide([
      GatewayTest.layer(
        { rerank: Samples.rerankResponse },
        { faults: { rerank: Faults.first(1, Faults.status(503)) } }
      ),
      GatewayTest.layerNoWaits
    ]),
    Effect.runPromise
  ))

void test("asks for credits where there are none", () =>
  Effect.gen(function* () {
    assert.equal(yield* search("pears", ["apples", "pears"]), "please add credits")
  }).pipe(Effect.provide(GatewayTest.layer({ rerank: Faults.status(402) })), Effect.runPromise))
