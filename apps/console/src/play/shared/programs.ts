/** The programs that make the request of a form. */
import * as CodeSamples from "@model-gateway/core/unstable/CodeSamples"

/** The request of a form as a program makes it. */
export interface CodeCall {
  readonly request: CodeSamples.Request
  readonly client: CodeSamples.ClientCall
  /** What the programs leave out. */
  readonly note?: string | undefined
}

/** The kinds of programs. */
export const languages = [
  ["curl", "curl"],
  ["python", "Python"],
  ["fetch", "fetch"],
  ["promises", "TypeScript"],
  ["effect", "Effect"]
] as const

export type Language = (typeof languages)[number][0]

/** The program of a request. */
export const programOf = (language: Language, { client, request }: CodeCall): string => {
  switch (language) {
    case "curl":
      return CodeSamples.curl(request)
    case "python":
      return CodeSamples.pythonRequests(request)
    case "fetch":
      return CodeSamples.fetch(request)
    case "promises":
      return CodeSamples.promises(request, client)
    case "effect":
      return CodeSamples.effect(request, client)
  }
}
