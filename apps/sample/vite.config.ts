// Builds the page into what the gateway serves at `/`.
import { defineConfig } from "vite"

export default defineConfig({
  root: "src/web",
  // Everything is a file of its own: the page's policy allows no script or style but its own files.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  logLevel: "warn"
})
