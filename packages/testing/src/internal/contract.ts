/** The endpoints of the contract, in the contract's order. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

type Groups = (typeof GatewayApi)["groups"]

/** An endpoint of the contract. Of its types, only the identifier is kept. */
export interface Endpoint extends Pick<
  HttpApiEndpoint.Top,
  "method" | "path" | "params" | "query" | "headers" | "payload" | "success" | "error"
> {
  readonly identifier: HttpApiGroup.Endpoints<Groups[keyof Groups]>["identifier"]
}

const of = (group: { readonly endpoints: { readonly [name: string]: Endpoint } }): ReadonlyArray<Endpoint> =>
  Object.values(group.endpoints)

export const endpoints: ReadonlyArray<Endpoint> = Object.values(GatewayApi.groups).flatMap(of)
