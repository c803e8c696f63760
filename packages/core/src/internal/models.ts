/** What the operations on models share. */
import * as Schema from "effect/Schema"
import { isMaxCharacters } from "./characters.ts"

const PathPart = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(512))

/** The path parameters that name a model. */
export const modelParams = () => ({
  /** The author: what comes before the first slash of the model's id. 1 to 512 characters. */
  author: PathPart,
  /** The rest of the model's id, with its slashes escaped as `%2F`. 1 to 512 characters. */
  slug: PathPart
})

/** The path parameters of a model's id. Undefined for an id without a slash. */
export const paramsOf = (id: string): { readonly author: string; readonly slug: string } | undefined => {
  const at = id.indexOf("/")
  return at < 1 || at === id.length - 1 ? undefined : { author: id.slice(0, at), slug: id.slice(at + 1) }
}

/** What is wrong with an id without a slash. */
export const notAnId = "Expected an author, a slash and a slug, such as cohere/rerank-v3.5"

/** The model of the API reference. */
export const modelExample = {
  id: "cohere/rerank-v3.5",
  canonical_slug: "cohere/rerank-v3.5",
  object: "model",
  owned_by: "cohere",
  name: "Cohere Rerank 3.5",
  created: 0,
  description: "",
  context_length: null,
  architecture: {
    input_modalities: ["text"],
    output_modalities: ["rerank"],
    modality: "text->rerank",
    tokenizer: "Other",
    instruct_type: null
  },
  pricing: { prompt: "0", completion: "0", search_unit: "0.002" },
  top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
  per_request_limits: null,
  supported_parameters: [],
  supported_voices: null,
  default_parameters: null,
  expiration_date: null,
  links: { details: "/api/v1/models/cohere/rerank-v3.5/endpoints" },
  providers: ["cohere"],
  kind: "rerank",
  is_free: false,
  capabilities: { image_documents: false }
} as const
