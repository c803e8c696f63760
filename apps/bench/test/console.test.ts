// The sizes of the console's pages follow from Vite's manifest.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { measure } from "../src/console/sizes.ts"

/** Files by their sizes. */
const sizes = {
  "console/index.html": 1,
  "play.html": 2,
  "shell.js": 10,
  "shell.css": 20,
  "shared.js": 100,
  "overview.js": 1000,
  "plot.js": 10_000,
  "keys.js": 100_000,
  "keys-dialog.js": 200_000,
  "play.js": 400_000,
  "rerank.js": 1_000_000
}

const manifest = {
  "console/index.html": {
    file: "shell.js",
    css: ["shell.css"],
    imports: ["_shared.js"],
    dynamicImports: ["pages/Overview.tsx", "pages/Keys.tsx"]
  },
  "play.html": { file: "play.js", imports: ["_shared.js"], dynamicImports: ["play/rerank/Rerank.tsx"] },
  "_shared.js": { file: "shared.js", imports: ["console/index.html"] },
  "parts/Plot.tsx": { file: "plot.js", imports: ["_shared.js"] },
  "pages/Overview.tsx": { file: "overview.js", imports: ["_shared.js"], dynamicImports: ["parts/Plot.tsx"] },
  "pages/Keys.tsx": {
    file: "keys.js",
    imports: ["_shared.js"],
    dynamicImports: ["parts/Plot.tsx", "pages/keys/Dialog.tsx"]
  },
  "pages/keys/Dialog.tsx": { file: "keys-dialog.js" },
  "play/rerank/Rerank.tsx": { file: "rerank.js", imports: ["play.html"] }
}

it("counts what a page loads, once, and compressed where it is sent so", () => {
  const folder = mkdtempSync(join(tmpdir(), "console-sizes-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const path of [".vite", "console"]) mkdirSync(join(folder, path))
  writeFileSync(join(folder, ".vite/manifest.json"), JSON.stringify(manifest))
  for (const [name, size] of Object.entries(sizes)) writeFileSync(join(folder, name), "x".repeat(size))
  writeFileSync(join(folder, "rerank.js.br"), "xxx")
  expect(measure(folder)).toEqual([
    { name: "console: shell and overview", bytes: 11_131, bound: 130_000 },
    { name: "  of that, charts", bytes: 10_000 },
    { name: "console: Keys, more than that", bytes: 300_000, bound: 20_000 },
    // The play page shares a file that imports the console's shell.
    { name: "playground: with Rerank", bytes: 400_000 + 2 + 130 + 3, bound: 70_000 }
  ])
})

it("no page that is built is above its bound", () => {
  const built = join(import.meta.dirname, "../../console/dist/web")
  expect(measure(built).filter(({ bound, bytes }) => bound !== undefined && bytes > bound)).toEqual([])
})
