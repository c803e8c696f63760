// Bundles test/pages/page.ts like an application, and opens it in the browser.
import { fileURLToPath } from "node:url"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { build } from "vite"
import type { Server } from "./Server.ts"

const entry = fileURLToPath(new URL("../pages/page.ts", import.meta.url))

/** The page's code, bundled by Vite. */
export const bundle = async (): Promise<string> => {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: { write: false, modulePreload: false, rolldownOptions: { input: entry } }
  })
  const outputs = Array.isArray(built) ? built : [built]
  const chunk = outputs.flatMap((each) => ("output" in each ? each.output : [])).find((each) => each.type === "chunk")
  if (chunk === undefined || chunk.type !== "chunk") throw new Error("the page was not built")
  return chunk.code
}

/** Serves the page at `/`, with the given HTML in its head. */
export const host = (server: Server, code: string, head = "") => {
  server.on("/", (_, response) =>
    response
      .writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end(
        `<!doctype html><html lang="en"><head><title>test</title><link rel="icon" href="data:," />${head}</head>` +
          `<body><script type="module" src="/page.js"></script></body></html>`
      )
  )
  server.on("/page.js", (_, response) => response.writeHead(200, { "content-type": "text/javascript" }).end(code))
}

/**
 * Opens the page, in the given context or a new one, and waits until it is ready. `complaints`
 * collects console errors and page errors.
 */
export const open = async (
  browser: Browser,
  server: Server,
  context?: BrowserContext
): Promise<{ readonly page: Page; readonly complaints: ReadonlyArray<string> }> => {
  const page = await (context ?? (await browser.newContext())).newPage()
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(error.message))
  await page.goto(server.origin)
  await page.waitForFunction(() => "actions" in globalThis)
  return { page, complaints }
}
