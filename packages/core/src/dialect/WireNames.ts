/**
 * The words for vendors on the wire.
 *
 * The specification writes six vendor words neutrally, and so do all types and all code of this
 * project. Clients of OpenRouter's API use other words. A service that has to speak to them, and a
 * client that has to speak to a service that uses them, take a {@link WireNames}. This module
 * translates what is sent and what is received. Nothing else knows the other words.
 *
 * What it translates: the query parameter `provider`, the `shape` of `Accept` and `_shape` of the
 * operations of `/files`; `file_shape` of `/workspaces`; `service_metadata` of every error.
 *
 * Specification: "Names on the wire".
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { Request } from "../internal/request.ts"

/**
 * A word for each of the six neutral words of the specification.
 *
 * @category models
 * @since 0.1.0
 */
export interface Words {
  /** The value of `provider` for files of OpenAI. */
  readonly provider_a: string
  /** The value of `provider` for files of Anthropic. */
  readonly provider_b: string
  /** The service's own shape of files. */
  readonly native: string
  /** The shape of files like OpenAI's. */
  readonly compat_a: string
  /** The shape of files like Anthropic's. */
  readonly compat_b: string
  /** The field of an error that has the request's id. */
  readonly service_metadata: string
}

/**
 * Translates in one direction. `path` is the path of the operation, such as `/files/:file_id`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Translation {
  /** A value of the query parameter `provider`. */
  readonly provider: (path: string, word: string) => string
  /** A value of the header `Accept`. */
  readonly accept: (path: string, header: string) => string
  /** The JSON of a request or a response. */
  readonly body: (path: string, json: unknown) => unknown
}

/**
 * Translates between the neutral words and those of a service or a client. All other words stay as
 * they are.
 *
 * @category models
 * @since 0.1.0
 */
export interface WireNames {
  readonly words: Words
  /** From the neutral words. */
  readonly toWire: Translation & {
    /** A request of the client. */
    readonly request: (path: string, request: Request) => Request
    /**
     * Text that is about the API: the OpenAPI document, or the message of an error. A word is
     * translated in quotes, as code or after `=`. Anywhere else it may be a word of everyday
     * language, or a caller's.
     */
    readonly text: (text: string) => string
  }
  /** To the neutral words. */
  readonly fromWire: Translation
}

const neutral: Words = {
  provider_a: "provider_a",
  provider_b: "provider_b",
  native: "native",
  compat_a: "compat_a",
  compat_b: "compat_b",
  service_metadata: "service_metadata"
}

const isFiles = (path: string): boolean => path.startsWith("/files")

/** The field of an operation's bodies that names a shape. */
const shapeField = (path: string): string | undefined =>
  isFiles(path) ? "_shape" : path.startsWith("/workspaces") ? "file_shape" : undefined

/**
 * Whether the requests and the responses of an operation have vendor words. Errors of all
 * operations have one.
 *
 * @category predicates
 * @since 0.1.0
 */
export const hasWords = (path: string): boolean => shapeField(path) !== undefined

const providers = ["provider_a", "provider_b"] as const
const shapes = ["native", "compat_a", "compat_b"] as const

const renaming = (keys: ReadonlyArray<keyof Words>, from: Words, to: Words) => {
  const renamed = new Map(keys.map((key) => [from[key], to[key]]))
  return (word: string): string => renamed.get(word) ?? word
}

const translation = (from: Words, to: Words): Translation => {
  const provider = renaming(providers, from, to)
  const shape = renaming(shapes, from, to)
  const body = (field: string | undefined, json: unknown): unknown => {
    if (Array.isArray(json)) return json.map((item: unknown) => body(field, item))
    if (!Predicate.isObject(json) || (field === undefined && !("error" in json))) return json
    return Object.fromEntries(
      Object.entries(json).map(([key, value]): readonly [string, unknown] => {
        if (key === from.service_metadata && "error" in json) return [to.service_metadata, value]
        if (field === undefined) return [key, value]
        if (key === field && typeof value === "string") return [key, shape(value)]
        return [key, key === "data" ? body(field, value) : value]
      })
    )
  }
  return {
    provider: (path, word) => (isFiles(path) ? provider(word) : word),
    accept: (path, header) =>
      isFiles(path)
        ? header.replace(
            /(;\s*shape\s*=\s*"?)([\w-]+)/gi,
            (_, before: string, word: string) => before + shape(word.toLowerCase())
          )
        : header,
    body: (path, json) => body(shapeField(path), json)
  }
}

/**
 * Makes the translation of a set of words.
 *
 * @example
 * ```ts
 * import { GatewayConfig, WireNames } from "@model-gateway/core"
 * import { Redacted } from "effect"
 *
 * const wireNames = WireNames.make({
 *   provider_a: "first",
 *   provider_b: "second",
 *   native: "own",
 *   compat_a: "first",
 *   compat_b: "second",
 *   service_metadata: "own_metadata"
 * })
 * const layer = GatewayConfig.layer({ credential: Redacted.make("mg_sk_…"), wireNames })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (words: Words): WireNames => {
  const toWire = translation(neutral, words)
  const text = renaming([...providers, ...shapes, "service_metadata"], neutral, words)
  return {
    words,
    toWire: {
      ...toWire,
      request: (path, request) => {
        const provider = request.query?.["provider"]
        const accept = request.headers?.["accept"]
        return {
          ...request,
          query:
            typeof provider === "string"
              ? { ...request.query, provider: toWire.provider(path, provider) }
              : request.query,
          headers: accept === undefined ? request.headers : { ...request.headers, accept: toWire.accept(path, accept) },
          json: toWire.body(path, request.json)
        }
      },
      // `native` may begin a longer name, such as the value of an attribute of a page.
      text: (value) =>
        value.replace(
          /(?<=["`=]|&quot;|<code>)(?:provider_[ab]|compat_[ab]|service_metadata|native(?=\\?["`]|&quot;|<\/code>))\b/g,
          text
        )
    },
    fromWire: translation(words, neutral)
  }
}

/**
 * The words of OpenRouter's clients, such as `@openrouter/sdk`.
 *
 * @category constants
 * @since 0.1.0
 */
export const openrouter: WireNames = make({
  provider_a: "openai",
  provider_b: "anthropic",
  native: "openrouter",
  compat_a: "openai",
  compat_b: "anthropic",
  service_metadata: "openrouter_metadata"
})

/**
 * The names of the sets of words that a setting can choose. `neutral` are the specification's.
 *
 * @category constants
 * @since 0.1.0
 */
export const presets = ["neutral", "openrouter"] as const

/**
 * @category models
 * @since 0.1.0
 */
export type Preset = (typeof presets)[number]

/**
 * The words of a preset. Undefined for `neutral`: nothing is translated.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofPreset = (preset: Preset): WireNames | undefined => (preset === "openrouter" ? openrouter : undefined)
