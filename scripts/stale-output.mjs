// Deletes what tsc compiled of sources that are gone. Each build runs it before tsc, in the folder
// of its package: `node ../../scripts/stale-output.mjs`.
//
// tsc leaves such output, others could go on importing it, it would be packed, and turbo would
// restore it with the rest of the build.
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

// Only tsc writes declarations. Other programs wrote the rest of dist.
const declaration = /\.d\.ts$/

export const deleteStaleOutput = (folder) => {
  const [dist, src] = ["dist", "src"].map((name) => join(folder, name))
  if (!existsSync(dist)) return
  for (const path of readdirSync(dist, { recursive: true }).filter((path) => declaration.test(path))) {
    const module = path.replace(declaration, "")
    if ([".ts", ".tsx"].some((extension) => existsSync(join(src, `${module}${extension}`)))) continue
    for (const extension of [".js", ".js.map", ".d.ts", ".d.ts.map"]) {
      rmSync(join(dist, `${module}${extension}`), { force: true })
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) deleteStaleOutput(".")
