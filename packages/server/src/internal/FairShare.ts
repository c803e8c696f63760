/** The same shares as those of adapters. */
export * from "@model-gateway/offers/FairShare"
