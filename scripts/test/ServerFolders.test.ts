// The folders of packages/server/src: which may import which, so that none import each other in a
// circle.
import { posix } from "node:path"
import { describe, expect, it } from "vitest"
import { imports, packages, type Source, sources } from "./Workspace.ts"

/**
 * From bottom to top. A folder, or a file beside the folders, imports only what comes before it.
 */
const folders = [
  "log",
  "internal",
  "GatewayServerConfig.ts",
  "LiveSecrets.ts",
  "EffectiveSettings.ts",
  "observability",
  "storage",
  "accounting",
  "objects",
  "events",
  "dialect",
  "outbound",
  "requests",
  "http",
  "access",
  "broadcast",
  "webhooks",
  "routing",
  "admission",
  "audit",
  "console",
  "video",
  "alerts",
  "operations",
  "openapi",
  "site",
  "WorkspaceParts.ts",
  "Reload.ts",
  "Composition.ts",
  "Maintenance.ts",
  "GatewayServer.ts",
  "index.ts"
]

const server = packages.find(({ name }) => name === "server")
if (server === undefined) throw new Error("packages/server is missing")

/** `path` is relative to `src`. */
const files = sources(server, "src").map(({ code, path }) => ({ code, path: path.replace(/^src\//, "") }))

const folderOf = (path: string): string => path.split("/")[0] ?? path

/** Whether a file of the folder `from` may import a file of the folder `to`. */
const mayImport = (from: string, to: string): boolean =>
  from === to || (folders.includes(to) && folders.indexOf(to) < folders.indexOf(from))

/** The relative imports of a folder that is not below the importing one. */
const upward = (from: ReadonlyArray<Source>): ReadonlyArray<string> =>
  from
    .flatMap(({ code, path }) =>
      imports(code)
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => posix.join(posix.dirname(path), specifier))
        .filter((to) => !mayImport(folderOf(path), folderOf(to)))
        .map((to) => `${path} imports ${to}`)
    )
    .toSorted()

describe("folders of the server", () => {
  it("are all in the list", () => {
    expect(files.map(({ path }) => folderOf(path)).filter((folder) => !folders.includes(folder))).toEqual([])
  })

  it("import in one direction", () => {
    expect(upward(files)).toEqual([])
  })

  it("do not import the sandbox: the executable composes it", () => {
    const found = files.flatMap(({ code, path }) =>
      imports(code)
        .filter((specifier) => /^@model-gateway\/sandbox(?:\/|$)/.test(specifier))
        .map((specifier) => `${path} imports ${specifier}`)
    )
    expect(found).toEqual([])
    const { dependencies, peerDependencies } = server.manifest
    // Tests may run the sandbox's models; whoever installs the server does not get them.
    expect({ ...dependencies, ...peerDependencies }).not.toHaveProperty("@model-gateway/sandbox")
  })

  it("would notice an import of a later folder and of an unknown one", () => {
    const wrong = [
      { path: "storage/sql/A.ts", code: `import * as B from "../../accounting/B.ts"` },
      { path: "http/A.ts", code: `import type { B } from "../access/B.ts"\nimport { C } from "../storage/sql/C.ts"` },
      { path: "video/A.ts", code: `export * from "../unknown/B.ts"` },
      { path: "video/B.ts", code: `import "./A.ts"` }
    ]
    expect(upward(wrong)).toEqual([
      "http/A.ts imports access/B.ts",
      "storage/sql/A.ts imports accounting/B.ts",
      "video/A.ts imports unknown/B.ts"
    ])
  })
})
