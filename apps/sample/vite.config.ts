// Builds the page of the sample.
import { defineConfig } from "vite"
import { compressed } from "../../scripts/compressed.ts"

export default defineConfig({
  root: "src/web",
  // The service may be below any path.
  base: "./",
  // No inline assets: the page's policy allows only scripts and styles in files.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  plugins: [compressed],
  logLevel: "warn"
})
