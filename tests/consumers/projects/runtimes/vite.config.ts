/**
 * The program in one file, which is what is deployed to an edge: as a module for `workerd`, and as
 * a script for Vercel's edge runtime.
 */
import { defineConfig } from "vite"

export default defineConfig({
  build: {
    lib: {
      entry: "src/program.ts",
      name: "program",
      formats: ["es", "iife"],
      fileName: (format) => (format === "es" ? "program.js" : "program.script.js")
    }
  }
})
