/**
 * Where a value does not match its schema.
 *
 * @since 0.1.0
 */
import type { SchemaError } from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"

/**
 * The keys that lead to the first value that does not match. Empty: the whole value does not.
 *
 * @category getters
 * @since 0.1.0
 */
export const first = (error: SchemaError): ReadonlyArray<PropertyKey> => {
  const path: Array<PropertyKey> = []
  let issue: SchemaIssue.Issue | undefined = error.issue
  while (issue !== undefined) {
    if (issue._tag === "Pointer") path.push(...issue.path)
    issue = "issues" in issue ? issue.issues[0] : "issue" in issue ? issue.issue : undefined
  }
  return path
}
