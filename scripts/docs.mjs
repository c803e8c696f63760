// The documentation site. It has an install of its own in site, because it is 102 MB
// and only those who change or publish the documentation need it.
//
// - `npm run docs`: builds it and serves it at http://127.0.0.1:4173
// - `npm run docs -- dev`: serves it while pages are edited
// - `npm run docs -- build`: builds it in site/dist, and fails on a dead link
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { spawnSync } from "node:child_process"
import { root } from "./setup.mjs"

const site = join(root, "site")

const run = (command, args) => {
  const { status } = spawnSync(command, args, { cwd: site, stdio: "inherit", shell: process.platform === "win32" })
  if (status !== 0) process.exit(status ?? 1)
}

const lock = createHash("sha256")
  .update(readFileSync(join(site, "package-lock.json")))
  .digest("hex")
const stampFile = join(site, "node_modules", ".stamp")
if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== lock) {
  console.log("Installing what the site needs: 102 MB, about half a minute …")
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
  writeFileSync(stampFile, lock)
}

const vitepress = (...args) => run(process.execPath, ["node_modules/vitepress/bin/vitepress.js", ...args])

const [mode = "preview"] = process.argv.slice(2)
if (mode === "dev") vitepress("dev", "--host", "127.0.0.1")
else vitepress("build")
if (mode === "preview") vitepress("preview", "--host", "127.0.0.1", "--port", "4173")
