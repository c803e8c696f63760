/** The gateway with Cohere's models. The first argument is the URL of the upstream. */
import { NodeGateway } from "@model-gateway/node"
import * as Cohere from "@model-gateway/providers/Cohere"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpClient } from "effect/http"
import { serve } from "../service/serve.ts"

const [, , baseUrl = ""] = process.argv

const upstream = { name: "cohere", baseUrl, credential: gatewayCredential(Redacted.make("not-a-real-key")) }

// The client's connections stay open as long as the process runs.
const offers = Effect.flatMap(Layer.build(NodeGateway.layerHttpClient({ connections: 1024 })), (context) =>
  Effect.provideService(
    Cohere.adapter.offers(upstream, Cohere.adapter.models),
    HttpClient.HttpClient,
    Context.get(context, HttpClient.HttpClient)
  )
)

serve(offers)
