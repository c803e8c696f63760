// The examples of the documents: every block of TypeScript in them.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "@model-gateway/test-services/Command"
import type { Project } from "./Packed.ts"

export interface Example {
  /** `docs-client-client-3.ts` is the fourth of docs/client/client.md. */
  readonly name: string
  readonly code: string
}

/** The one guide whose examples need `ai`. */
const aiSdkGuide = "docs/client/ai-sdk.md"

/**
 * The documents that show code of such a project, or sources whose docstrings do. The README of
 * `testing` and the docstrings of other packages are tested where they are.
 */
const documents = (project: Project): ReadonlyArray<string> => {
  switch (project) {
    case "node":
      return [
        "README.md",
        ...globSync("docs/*/*.md", { cwd: root })
          .filter((path) => path !== aiSdkGuide)
          .toSorted(),
        ...["core", "node", "offers", "providers", "sandbox", "server", "settings"].map(
          (name) => `packages/${name}/README.md`
        )
      ]
    case "ai-sdk":
      return ["packages/ai-sdk/README.md", aiSdkGuide]
    case "page":
      return ["packages/browser/README.md"]
    case "promise":
      return [...globSync("packages/{mcp,node}/src/*.ts", { cwd: root }).toSorted(), "packages/mcp/README.md"]
    case "runtimes":
      return []
  }
}

/** A document, or what the docstrings of a source say. */
const textOf = (document: string): string => {
  const text = readFileSync(join(root, document), "utf8")
  return document.endsWith(".ts") ? text.replaceAll(/^ \* ?/gm, "") : text
}

export const examples = (project: Project): ReadonlyArray<Example> =>
  documents(project).flatMap((document) =>
    Array.from(textOf(document).matchAll(/^```ts\n([\s\S]*?)^```$/gm), (match, index) => ({
      name: `${document.replace(/\.(?:md|ts)$/, "").replaceAll("/", "-")}-${index}.ts`,
      // A block without imports would share its names with the others.
      code: `${match[1] ?? ""}\nexport {}\n`
    }))
  )
