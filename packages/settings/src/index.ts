/**
 * Settings as declarations.
 *
 * @since 0.1.0
 */
export * as Nearest from "./Nearest.ts"
export * as Setting from "./Setting.ts"
