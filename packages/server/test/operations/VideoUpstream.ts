// A service that makes videos through one adapter, which calls a double on a socket.
import { NodeHttpClient } from "@effect/platform-node"
import { expect } from "@effect/vitest"
import { isFinal, Job } from "@model-gateway/core/Video"
import type { Adapter } from "@model-gateway/offers/Adapter"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { JobDouble } from "@model-gateway/test-doubles/JobDouble"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const secret = "upstream-secret-0123456789"

export interface Upstream {
  readonly name: string
  readonly adapter: Adapter
  readonly start: (options: { readonly keys: ReadonlyArray<string> }) => Promise<JobDouble>
  /** The base URL is that of the double with this path. */
  readonly path: string
  readonly model: string
  /** Of the test's requests, in credits. */
  readonly cost: number
}

export class Double extends Context.Service<Double, JobDouble>()("test/Double") {}

/** The service with the adapter's offers. */
export const gateway = ({ adapter, path, start }: Upstream) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { url } = yield* Double
      const credential = gatewayCredential(Redacted.make(secret))
      const upstream = { name: adapter.name, baseUrl: `${url}${path}`, credential }
      const offers = yield* adapter.offers(upstream, adapter.models)
      return layer({ circuits: { failures: 1000 } }, [offers])
    })
  ).pipe(
    Layer.provideMerge(
      Layer.effect(
        Double,
        Effect.acquireRelease(
          Effect.promise(() => start({ keys: [secret] })),
          (double) => Effect.promise(() => double.close())
        )
      )
    ),
    Layer.provide(NodeHttpClient.layerUndici)
  )

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

/** A new key of the test's workspace, and what it was charged. */
export const newKey = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  const { key, plain } = yield* (yield* KeyStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: "test"
  })
  return { key: Redacted.value(plain), charges: TestLedger.usageOf({ keyHash: key.hash }) }
})

/** Submits a job, and returns it when it is over. */
export const make = Effect.fnUntraced(function* (
  model: string,
  key: string,
  request: { readonly duration?: number } = {}
) {
  const { ask } = yield* TestGateway
  const accepted = yield* post("/api/v1/videos", { model, prompt: "a harbor", ...request }, { key })
  expect({ status: accepted.status, text: accepted.text }).toMatchObject({ status: 202 })
  let job = decode(accepted.text)
  while (!isFinal(job.status)) job = decode((yield* ask(`${job.polling_url}?wait=30`, { key })).text)
  return job
})
