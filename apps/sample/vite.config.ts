// Builds the page that the gateway serves at `/`.
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { defineConfig, type Plugin } from "vite"

const text = /\.(?:css|html|js|json|map|svg)$/

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/**
 * Writes a `.br` and a `.gz` copy of each file, if they are smaller, at the highest compression.
 * The gateway then need not compress responses.
 */
const compressed: Plugin = {
  name: "compressed",
  async writeBundle({ dir = "" }, bundle) {
    for (const [name, file] of Object.entries(bundle)) {
      if (!text.test(name)) continue
      const bytes = Buffer.from(file.type === "chunk" ? file.code : file.source)
      const forms = {
        br: await brotli(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
        gz: await gzipped(bytes, { level: constants.Z_BEST_COMPRESSION })
      }
      for (const [extension, form] of Object.entries(forms)) {
        if (form.length < bytes.length) await writeFile(join(dir, `${name}.${extension}`), form)
      }
    }
  }
}

export default defineConfig({
  root: "src/web",
  // The service may be below any path.
  base: "./",
  // No inline assets: the page's policy allows only scripts and styles in files.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  plugins: [compressed],
  logLevel: "warn"
})
