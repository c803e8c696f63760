/**
 * JSON that others wrote. Its depth is bounded, no object has a key twice, and errors name the line.
 */
import { Effect } from "effect"
import { createScanner, type ParseError, parseTree } from "jsonc-parser"
import * as Output from "./Output.ts"

/** The maximum depth of objects and lists: what works on values calls itself for each level. */
const maxDepth = 64

/** The value of a text. Fails with what is wrong with it, to follow its name in a sentence. */
export const parse = (text: string): Effect.Effect<unknown, string> => {
  const problem = problemOf(text)
  return problem === undefined
    ? Effect.try({ try: (): unknown => JSON.parse(text), catch: () => syntaxProblem(text) })
    : Effect.fail(problem)
}

/** What `JSON.parse` accepts, although the depth is too great or one of two values gets lost. */
const problemOf = (text: string): string | undefined => {
  const scanner = createScanner(text, true)
  /** The keys of each object that is open. Those of a list stay empty. */
  const open: Array<Set<string>> = []
  /** The last string. It is a key if a colon follows. */
  let last = ""
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    switch (text.charAt(scanner.getTokenOffset())) {
      case "{":
      case "[":
        if (open.push(new Set()) > maxDepth) return `is nested deeper than ${maxDepth} levels`
        break
      case "}":
      case "]":
        open.pop()
        break
      case '"':
        last = scanner.getTokenValue()
        break
      case ":": {
        const keys = open.at(-1)
        if (keys?.has(last))
          return `sets "${Output.shortened(last)}" twice: see line ${scanner.getTokenStartLine() + 1}`
        keys?.add(last)
      }
    }
  }
  return undefined
}

const syntaxProblem = (text: string): string => {
  const errors: Array<ParseError> = []
  parseTree(text, errors, { disallowComments: true })
  return `is not valid JSON: check line ${text.slice(0, errors[0]?.offset ?? 0).split("\n").length}`
}
