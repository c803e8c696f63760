// Copies the script of the API reference page into `assets`, with its license: as a dependency, it
// would install fifty other packages that its bundle already contains.
import { copyFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const from = join(root, "node_modules", "openapi-explorer")
const to = join(root, "assets")
mkdirSync(to, { recursive: true })
copyFileSync(join(from, "dist", "browser", "openapi-explorer.min.js"), join(to, "openapi-explorer.min.js"))
copyFileSync(join(from, "LICENSE"), join(to, "openapi-explorer.LICENSE"))
