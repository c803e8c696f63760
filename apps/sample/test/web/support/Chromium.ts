// A real browser for tests. `npm test` has found or installed it by scripts/chromium.mjs before they run.
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { type Browser, chromium } from "playwright-core"

const script = fileURLToPath(new URL("../../../../../scripts/chromium.mjs", import.meta.url))

const find = (): string | undefined => {
  try {
    return execFileSync(process.execPath, [script, "--find"], { encoding: "utf8" }).trim()
  } catch (cause) {
    // In CI a missing browser is a failure; elsewhere the tests that need one are left out.
    if (process.env["CI"]) throw new Error("no Chromium to test in; `npm test` says why", { cause })
    return undefined
  }
}

/** The path of a Chromium; undefined where there is none, then the browser tests are skipped. */
export const chromiumPath = find()

/** Starts it with an empty profile, in a way that works in a container without a network; its microphone plays beeps. */
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
      "--disable-sync",
      "--use-fake-device-for-media-stream",
      "--autoplay-policy=no-user-gesture-required"
    ]
  })
