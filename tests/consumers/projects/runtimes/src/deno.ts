/** On Deno. */
import { serve, type Settings } from "./program.ts"

declare const Deno: {
  readonly env: { readonly toObject: () => Settings }
  readonly serve: (
    options: {
      readonly port: number
      readonly hostname: string
      readonly onListen: (address: { readonly port: number }) => void
    },
    handle: (request: Request) => Promise<Response>
  ) => unknown
}

Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`) },
  serve(Deno.env.toObject())
)
