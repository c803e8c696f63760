// A real browser. `npm test` has found or installed it by scripts/chromium.mjs before the tests run.
import { join } from "node:path"
import { type Browser, chromium } from "playwright-core"
import { root, run } from "./Command.ts"

const find = async (): Promise<string | undefined> => {
  const { code, stdout } = await run(process.execPath, [join(root, "scripts/chromium.mjs"), "--find"], { cwd: root })
  if (code === 0) return stdout.trim()
  // In CI a missing browser is a failure; elsewhere the tests that need one are left out.
  if (process.env["CI"]) throw new Error("no Chromium to test in; `npm test` says why")
  return undefined
}

/** The path of a Chromium; undefined where there is none, then the tests that need one are skipped. */
export const chromiumPath = await find()

/** Starts it with an empty profile, in a way that works in a container without a network. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumPath === undefined ? undefined : { executablePath: chromiumPath }),
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })
