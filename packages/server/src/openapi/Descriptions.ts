/**
 * The doc comments of the contract's exported constants and of their fields, by path, such as
 * `Rerank.Request.top_n`. Empty here: the build takes them from the sources and fills the compiled
 * module (`scripts/descriptions.mjs`). Only the OpenAPI document reads them.
 */
export const descriptions: { readonly [path: string]: string } = {}
