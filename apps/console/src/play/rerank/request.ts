/** The request of the form. */
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import type { CodeCall } from "../shared/programs.ts"
import { providerOf } from "../shared/provider.ts"
import type { Document } from "./documents.ts"

export const defaults = {
  model: "sandbox/bm25",
  /** A second model to compare with. Empty: none. */
  compare: "",
  query: "How do I reset a forgotten password?",
  documents: [
    "Invoices are sent on the first of each month.",
    "A new password must have at least twelve characters.",
    "The office is closed on public holidays.",
    "To reset a forgotten password, open the sign-in page and choose Forgot password.",
    "If you forgot your user name, ask the support."
  ].join("\n"),
  format: "auto",
  column: "",
  top_n: "",
  provider: ""
}

export type RerankForm = typeof defaults

/** Why the request cannot be sent. */
export const problemOf = (
  { query, top_n }: RerankForm,
  documents: ReadonlyArray<Document>,
  problem: string | undefined
): string | undefined => {
  if (query.trim() === "") return "Enter a query."
  if (problem !== undefined) return problem
  if (documents.length === 0) return "Enter at least one document."
  if (documents.length > 10_000) return `There are ${documents.length} documents. A request has at most 10,000.`
  if (top_n !== "" && !/^[1-9]\d*$/.test(top_n)) return "The number of results must be a whole number from 1."
  return undefined
}

/** The body of the request. */
export const bodyOf = (
  { provider, query, top_n }: RerankForm,
  model: string,
  documents: ReadonlyArray<Document>
): { readonly [field: string]: Json } => ({
  model,
  query,
  documents,
  ...(top_n === "" ? {} : { top_n: Number(top_n) }),
  ...providerOf(provider)
})

/** The most documents that a program has in it. */
const inCode = 20

/** The request for the programs. */
export const codeOf = (form: RerankForm, documents: ReadonlyArray<Document>): CodeCall => {
  const json = bodyOf(form, form.model, documents.slice(0, inCode))
  return {
    request: { method: "POST", path: "/rerank", json },
    client: { client: "Rerank.rerank", isFunction: true, arguments: [json] },
    note:
      documents.length > inCode ? `The program has the first ${inCode} of ${documents.length} documents.` : undefined
  }
}
