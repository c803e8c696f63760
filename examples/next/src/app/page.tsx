import Link from "next/link"
import { Studio } from "./Studio.tsx"

// The address of the gateway is that of the running server, not of the build.
export const dynamic = "force-dynamic"

export default function Page() {
  return (
    <main>
      <meta name="model-gateway-base-url" content={process.env["MODEL_GATEWAY_BASE_URL"]} />
      <meta name="model-gateway-token-endpoint" content="/api/token" />
      <h1>Media</h1>
      <Studio />
      <Link href="/about">About</Link>
    </main>
  )
}
