/** The same shares as those of adapters. */
export * from "@model-gateway/providers/FairShare"
