/** The model gateway's service, as Layers. Every module is a subpath of its own too. */
export * as GatewayServer from "./GatewayServer.ts"
export * as GatewayServerConfig from "./GatewayServerConfig.ts"
