/** A plugin of Vite for the pages that the gateway serves. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

const text = /\.(?:css|html|js|json|map|svg)$/

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

type File =
  | { readonly type: "chunk"; readonly code: string }
  | { readonly type: "asset"; readonly source: string | Uint8Array }

/**
 * Writes a `.br` and a `.gz` copy of each file, if they are smaller, at the highest compression.
 * The gateway then need not compress responses.
 */
export const compressed = {
  name: "compressed",
  async writeBundle({ dir = "" }: { readonly dir?: string | undefined }, bundle: Readonly<Record<string, File>>) {
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
