import type { NextConfig } from "next"

const config: NextConfig = {
  // Node loads these itself. Bundled, undici fails when it is loaded.
  serverExternalPackages: ["@model-gateway/node", "undici"],
  // `npm run check` compiles the types.
  typescript: { ignoreBuildErrors: true },
  experimental: { turbopackFileSystemCacheForBuild: false }
}

export default config
