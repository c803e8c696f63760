/**
 * Writes the version of the release into the files that name it beside the manifests. Run by
 * `npm run release:version`.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")

/** The files. */
export const files = [
  "apps/sample/src/main.ts",
  "deploy/compose/compose.yaml",
  "deploy/docker/Dockerfile",
  "deploy/helm/model-gateway/Chart.yaml",
  "docs/operate/containers.md",
  "docs/operate/one-server.md",
  "docs/operate/systemd.md",
  "tests/operate/test/Compose.test.ts"
]

/** The version of all packages, which are released together. */
export const version = (): string =>
  /"version": "(.*)"/.exec(readFileSync(join(root, "apps/gateway/package.json"), "utf8"))?.[1] ?? ""

/** A text with another version of an image, a package, a chart or a program. */
export const withVersion = (text: string, version: string): string =>
  text.replaceAll(/(\/gateway@|model-gateway:|\b(?:appV|v)ersion: "?)\d+\.\d+\.\d+\b/g, `$1${version}`)

if (import.meta.main) {
  for (const path of files.map((name) => join(root, name))) {
    writeFileSync(path, withVersion(readFileSync(path, "utf8"), version()))
  }
}
