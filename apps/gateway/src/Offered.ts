/** The upstreams and the offers of this gateway, for lists and messages. */
import type { AnyAdapter } from "@model-gateway/providers/Adapters"
import type { Upstream as AdapterUpstream } from "@model-gateway/offers/Adapter"
import type { FileApi } from "@model-gateway/offers/FileApi"
import type { DataPolicy } from "@model-gateway/offers/DataPolicy"
import type { Offers } from "@model-gateway/offers/Offer"
import type { Reloaded } from "@model-gateway/server/Reload"
import { Context, type Duration } from "effect"
import type { InUse } from "./CatalogFile.ts"
import type { Ready } from "./LoadSettings.ts"

/** An upstream with its adapter. */
export interface Upstream extends AdapterUpstream {
  readonly adapter: AnyAdapter
  /**
   * Names where the gateway's credential is from. Undefined: the upstream is called without one.
   */
  readonly credentialSource: string | undefined
  /** The time limit of its offers that state none. */
  readonly timeLimit: Duration.Duration | undefined
  /** What the provider declares of the data in requests, as far as it is known. */
  readonly dataPolicy: DataPolicy | undefined
  /** Whether the settings mention it, so that people expect it to be on. */
  readonly isMentioned: boolean
}

/** The settings of the executable that offers depend on. */
export type OfferSettings = Pick<Ready, "anthropicBaseUrl" | "catalog" | "responseMemory" | "upstreams">

/** What the gateway offers. */
export class Offered extends Context.Service<
  Offered,
  {
    readonly catalog: InUse
    /** Also those without a credential of the gateway. */
    readonly upstreams: ReadonlyArray<Upstream>
    /** In the order of the catalog. */
    readonly offers: Offers
    /** Where callers with a provider key may delete files. */
    readonly fileProviders: { readonly provider_a: FileApi; readonly provider_b: FileApi }
    /** For video jobs whose model has changed since they were accepted. */
    readonly makeVideoOffer: NonNullable<Reloaded["makeVideoOffer"]>
  }
>()("@model-gateway/gateway/Offered") {}
