// Copies the script of the API reference page into `assets`, with its license: as a dependency, it
// would install fifty other packages that its bundle already contains.
//
// The console of the page would send a list in a form as one text, also an empty list. In the copy
// each item is a field of its own.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const changes = [
  ['e.append(o,t.value.join(","))', "t.value.forEach(v=>e.append(o,v))"],
  ['-F "${o}[]=${e}"', '-F "${o}=${e}"']
]

const root = join(import.meta.dirname, "..")
const from = join(root, "node_modules", "openapi-explorer")
const to = join(root, "assets")
mkdirSync(to, { recursive: true })
let script = readFileSync(join(from, "dist", "browser", "openapi-explorer.min.js"), "utf8")
for (const [before, after] of changes) {
  if (script.split(before).length !== 2) throw new Error(`openapi-explorer changed: it has no single ${before}`)
  script = script.replace(before, () => after)
}
const notice = "/* Changed by Model Gateway: the console sends each item of a list in a form as a field of its own. */"
writeFileSync(join(to, "openapi-explorer.min.js"), `${notice}\n${script}`)
copyFileSync(join(from, "LICENSE"), join(to, "openapi-explorer.LICENSE"))
