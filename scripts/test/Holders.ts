// Finds what the service keeps beyond one call: collections that a closure keeps, queues, pools,
// caches, semaphores, worker threads, and tables.
import { parseSync } from "oxc-parser"

/** A place that keeps something, as `path name`. */
export interface Holder {
  readonly path: string
  /** The variable, or the constructor if it has none. */
  readonly name: string
}

/** Calls that make something that stores, waits or limits. */
const makers =
  /^(?:Cache|FairShare|FiberMap|FiberSet|ShortCache|LruMap|PersistedQueue|PgPool|Pool|PubSub|Queue|RcMap|Semaphore|NodeHttpClient|PartitionedSemaphore)\.(?:makeDispatcherOptions|make|makeWith|makeUnsafe|bounded|unbounded|dropping|sliding|dynamic)$/
const classes = new Set(["Agent", "Pool", "Worker"])
const collections = new Set(["Map", "Set"])

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

const childrenOf = (node: Node): ReadonlyArray<Node> => Object.values(node).flat().filter(isNode)

const nameOf = (node: unknown): string =>
  !isNode(node)
    ? ""
    : node.type === "Identifier"
      ? String(node["name"])
      : node.type === "MemberExpression"
        ? `${nameOf(node["object"])}.${nameOf(node["property"])}`
        : ""

const isFunction = ({ type }: Node): boolean => /Function(?:Expression|Declaration)$/.test(type)

/** A function that the call that gets it runs before it returns, such as the callback of `map`. */
const isRunAtOnce = (parent: Node | undefined): boolean =>
  parent?.type === "CallExpression" &&
  /\.(?:every|filter|find|flatMap|forEach|gen|map|reduce|some|sort|toSorted|sync|suspend|withSpan)$/.test(
    nameOf(parent["callee"])
  )

/** Whether a name is used in a function below this node that may run after it. */
const isKeptBelow = (node: Node, name: string, within: boolean, parent?: Node): boolean => {
  if (node.type === "Identifier") return within && node["name"] === name
  const inside = within || (isFunction(node) && !isRunAtOnce(parent))
  return childrenOf(node).some((child) => isKeptBelow(child, name, inside, node))
}

/** What an expression makes, without `yield*` and what is piped around it. */
const madeBy = (node: unknown): Node | undefined => {
  if (!isNode(node)) return undefined
  if (node.type === "YieldExpression" || node.type === "AwaitExpression") return madeBy(node["argument"])
  if (node.type === "TSAsExpression" || node.type === "TSSatisfiesExpression") return madeBy(node["expression"])
  return node
}

const isEmpty = (list: unknown): boolean => Array.isArray(list) && list.length === 0

const isCollection = (node: Node): boolean =>
  (node.type === "NewExpression" && collections.has(nameOf(node["callee"])) && isEmpty(node["arguments"])) ||
  (node.type === "ArrayExpression" && isEmpty(node["elements"]))

const isMaker = (node: Node): boolean =>
  (node.type === "CallExpression" && makers.test(nameOf(node["callee"]))) ||
  (node.type === "NewExpression" && classes.has(nameOf(node["callee"])))

/** What one source keeps. */
export const holdersIn = (path: string, code: string): ReadonlyArray<Holder> => {
  const found: Array<Holder> = []
  const visit = (node: Node, scope: Node): void => {
    if (node.type === "VariableDeclarator") {
      const made = madeBy(node["init"])
      const name = nameOf(node["id"])
      if (made !== undefined && isMaker(made)) found.push({ path, name })
      else if (
        made !== undefined &&
        isCollection(made) &&
        childrenOf(scope).some((child) => isKeptBelow(child, name, false))
      )
        found.push({ path, name })
      if (made !== undefined) for (const child of childrenOf(made)) visit(child, isFunction(made) ? made : scope)
      return
    }
    if (isMaker(node)) found.push({ path, name: nameOf(node["callee"]) })
    for (const child of childrenOf(node)) visit(child, isFunction(node) ? node : scope)
  }
  const { program } = parseSync(path, code)
  const top: unknown = program
  if (isNode(top)) visit(top, top)
  return found
}

/** The tables that a source creates. */
export const tablesIn = (code: string): ReadonlyArray<string> =>
  Array.from(code.matchAll(/CREATE (?:UNLOGGED )?TABLE(?: IF NOT EXISTS)? (\w+)/g), ([, table = ""]) => table)
