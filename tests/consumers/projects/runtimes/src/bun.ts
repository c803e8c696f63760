/** On Bun. */
import { serve, type Settings } from "./program.ts"

declare const process: { readonly env: Settings }
declare const Bun: {
  readonly serve: (options: {
    readonly port: number
    readonly hostname: string
    readonly fetch: (request: Request) => Promise<Response>
  }) => { readonly port: number }
}

const { port } = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: serve(process.env) })

console.log(`http://127.0.0.1:${port}`)
