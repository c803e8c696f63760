/** The 400 that lists the issues of a request. */
import { BadRequest, type Issue, type Metadata, phrases } from "@model-gateway/core/GatewayError"

/** The maximum number of issues in a response. */
export const maxIssues = 20

/** A path can contain names of the caller's, which can be as long as the request. */
const maxPathCharacters = 512

const shortened = ({ path, ...issue }: Issue): Issue => ({
  ...issue,
  path: path.length > maxPathCharacters ? `${path.slice(0, maxPathCharacters).toWellFormed()}…` : path
})

/** The issues as `error.metadata`. */
export const metadataOf = (issues: ReadonlyArray<Issue>): Metadata =>
  issues.length > maxIssues
    ? { issues: issues.slice(0, maxIssues).map(shortened), issues_truncated: true }
    : { issues: issues.map(shortened) }

const describe = (issue: Issue): string => {
  const { message, path } = shortened(issue)
  return path === "" ? message : `${path}: ${message}`
}

/** The first issue and the number of further ones. */
export const summaryOf = (issues: ReadonlyArray<Issue>): string => {
  const [first, ...others] = issues
  if (first === undefined) return "the request is malformed"
  if (others.length === 0) return describe(first)
  return `${describe(first)} (and ${issues.length > maxIssues ? `more than ${maxIssues - 1}` : others.length} more)`
}

/** A 400 with these issues. `reason` replaces the summary of them in the message. */
export const invalid = (issues: ReadonlyArray<Issue>, reason = summaryOf(issues)): BadRequest =>
  new BadRequest({ error: { message: `${phrases[400]}: ${reason}`, metadata: metadataOf(issues) } })
