/** A program without Effect, with the scripted gateway. */
import { fromLayer, PaymentRequired } from "@model-gateway/node/promise"
import { Faults, GatewayTest, Samples } from "@model-gateway/testing"
import assert from "node:assert/strict"
import { test } from "node:test"

const request = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }

void test("resolves with the scripted responses, and rejects with instances of the error classes", async () => {
  const gateway = await fromLayer(GatewayTest.layer({ rerank: [Samples.rerankResponse, Faults.status(402)] }))
  assert.deepEqual(await gateway.rerank(request), Samples.rerankResponse)
  await assert.rejects(gateway.rerank(request), PaymentRequired)
  await gateway.close()
})
