/** One module that needs no other, which is what a worker is deployed as. */
import { defineConfig } from "vite"

export default defineConfig({
  build: { lib: { entry: "src/worker.ts", formats: ["es"], fileName: () => "worker.js" } }
})
