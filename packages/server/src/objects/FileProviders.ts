/**
 * The providers that store files for callers with a key of their own: who `provider_a` and
 * `provider_b` are.
 *
 * Specification: DELETE `/files/{file_id}`, `provider`.
 */
import type { FileProvider } from "@model-gateway/core/Files"

/** The name of each under which callers store their key. */
export const nameOf: Readonly<Record<FileProvider, string>> = { provider_a: "openai", provider_b: "anthropic" }

/** All names. */
export const names: ReadonlyArray<string> = Object.values(nameOf)
