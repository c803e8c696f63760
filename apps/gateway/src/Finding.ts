/** What a schema finds wrong in a value, in the terms of a sentence about it. */
import { SchemaAST, type SchemaIssue } from "effect"

/** The place of a value: `["models", "acme/rerank", "offers", 0]`. */
export type Location = ReadonlyArray<string | number>

/** A place for people: `models.acme/rerank.offers[0]`. */
export const format = (location: Location): string =>
  location.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`)).join("")

/** What is wrong, and where. */
export type Finding =
  | { readonly fault: "missing"; readonly location: Location }
  | {
      readonly fault: "unknown"
      readonly location: Location
      /** What the keys of the object are, if it has any that match. */
      readonly expected: string | undefined
      /** The keys that the object may have. None if it may have any that match. */
      readonly known: ReadonlyArray<string>
    }
  | {
      readonly fault: "wrong"
      readonly location: Location
      /** What the value has to be. */
      readonly expected: string | undefined
    }

const expectedOf = (ast: SchemaAST.AST): string | undefined => SchemaAST.resolveAt<string>("expected")(ast)

/** The first finding of an issue. Its `expected` is the annotation of that name. */
export const of = (issue: SchemaIssue.Issue, location: Location = []): Finding => {
  switch (issue._tag) {
    case "Pointer": {
      const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)))
      return of(issue.issue, [...location, ...path])
    }
    case "MissingKey":
      return { fault: "missing", location }
    case "UnexpectedKey": {
      const known = SchemaAST.isObjects(issue.ast) ? issue.ast.propertySignatures.map(({ name }) => String(name)) : []
      return { fault: "unknown", location, expected: expectedOf(issue.ast), known }
    }
    case "Composite": {
      const [first] = issue.issues
      return first._tag === "Pointer"
        ? of(first, location)
        : { fault: "wrong", location, expected: expectedOf(issue.ast) }
    }
    case "AnyOf":
    case "Encoding":
    case "InvalidType":
    case "OneOf":
      return { fault: "wrong", location, expected: expectedOf(issue.ast) }
    // Others contain them, and say what is expected.
    case "Filter":
    case "InvalidValue":
    case "Forbidden":
      return { fault: "wrong", location, expected: undefined }
  }
}
