// Builds the console and the playground, which the gateway serves.
import { defineConfig } from "vite"
import { compressed } from "../../scripts/compressed.ts"

export default defineConfig({
  root: "src",
  // The service may be below any path.
  base: "./",
  // The components and libraries are written for React. Preact runs them in a fifth of its size.
  resolve: {
    alias: {
      "react-dom/client": "preact/compat/client",
      "react-dom": "preact/compat",
      "react/jsx-runtime": "preact/jsx-runtime",
      react: "preact/compat"
    }
  },
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    // No inline assets: the pages' policy allows only scripts and styles in files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The benchmark of sizes reads it.
    manifest: true,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      input: ["src/console/index.html", "src/play.html"],
      // Libraries mark their code for servers that render React. There is none here.
      onLog: (level, log, handle) => {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log)
      }
    }
  },
  plugins: [compressed],
  logLevel: "warn"
})
