export * as NodeFile from "./NodeFile.ts"
export * as NodeGateway from "./NodeGateway.ts"
export * as NodeUpload from "./NodeUpload.ts"
