// The key of a service names the file that declares it, because defects show the key. In a file
// with several services, each key ends with the service's name.
import { expect, it } from "vitest"
import { packages, sources } from "./Workspace.ts"

/** A package does not import itself: a text like these is a key, or the identifier of an error. */
const keysOf = (name: string, code: string): ReadonlyArray<string> =>
  Array.from(code.matchAll(/(TaggedError<\w+>\(\s*)?"(@model-gateway\/[\w/-]+)"/g)).flatMap(([, error, key = ""]) =>
    error === undefined && key.startsWith(`${name}/`) ? [key] : []
  )

const keys = packages.flatMap((each) =>
  sources(each, "src").flatMap(({ code, path }) => {
    const file = `${each.manifest.name}/${path.replace(/^src\//, "").replace(/\.tsx?$/, "")}`
    return keysOf(each.manifest.name, code).map((key) => ({ key, file }))
  })
)

it("the key of a service is the path of its file", () => {
  expect(keys.map(({ key }) => key)).toContain("@model-gateway/server/accounting/Accounting")
  expect(keys.filter(({ key, file }) => key !== file && !key.startsWith(`${file}/`))).toEqual([])
})
