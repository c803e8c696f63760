/**
 * @since 0.1.0
 */
export * as CreditLimit from "./CreditLimit.ts"
export * as Estimate from "./Estimate.ts"
export * as GatewayTools from "./GatewayTools.ts"
export * as Session from "./Session.ts"
export * as StdioServer from "./StdioServer.ts"
