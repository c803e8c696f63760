// Builds the page into what the gateway serves at `/`.
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { defineConfig, type Plugin } from "vite"

const text = /\.(?:css|html|js|json|map|svg)$/

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/**
 * Leaves each file's compressed forms beside it, where they are smaller: compressed once, as
 * densely as it goes, instead of a little at each request.
 */
const packed: Plugin = {
  name: "packed",
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
  // Everything is a file of its own: the page's policy allows no script or style but its own files.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  plugins: [packed],
  logLevel: "warn"
})
