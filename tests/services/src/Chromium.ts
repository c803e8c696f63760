/**
 * A Chromium for the browser tests: one that the machine has, Debian's package, which root may
 * install, or Playwright's own.
 *
 * `CHROMIUM_PATH` names the Chromium to use. `CHROMIUM_INSTALL=never` forbids the installation.
 */
import { chromium } from "playwright-core"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { homedir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { forTests, installPackages, isRoot, type Program, run } from "./Program.ts"

/** Debian and Fedora say chromium, Ubuntu's package chromium-browser. Chrome works as well. */
const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"]

const macApplications = ["Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome"]

/** It is there and it starts: Ubuntu has a `chromium-browser` that is a note on how to get one. */
const runs = (path: string): boolean => {
  if (!existsSync(path)) return false
  const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 20_000 })
  return status === 0 && stdout.includes("Chrom")
}

/** The path of a Chromium that starts. */
const find = (): string | undefined =>
  [
    ...[process.env["CHROMIUM_PATH"] ?? ""].filter((path) => path !== ""),
    ...(process.env["PATH"] ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))),
    ...["/Applications", join(homedir(), "Applications")].flatMap((folder) =>
      macApplications.map((name) => join(folder, name))
    ),
    chromium.executablePath()
  ].find(runs)

const installPlaywright = (): boolean => {
  const cli = join(dirname(createRequire(import.meta.url).resolve("playwright-core/package.json")), "cli.js")
  const install = (...options: ReadonlyArray<string>) => run(process.execPath, [cli, "install", ...options, "chromium"])
  // The libraries that it needs come from the system's packages, which only root can install.
  return (isRoot && install("--with-deps")) || install()
}

const isForbidden = process.env["CHROMIUM_INSTALL"] === "never"

const announcement = isRoot
  ? "No Chromium was found for the browser tests. Installing one as root: the system's package chromium with apt-get, " +
    "or Playwright's Chromium with the system libraries it needs. This takes about a minute."
  : "No Chromium was found for the browser tests. Installing Playwright's for this user takes about a minute."

export const program: Program<string> = {
  name: "chromium",
  find,
  ensure: () => {
    const found = find()
    if (found !== undefined || isForbidden) return found
    console.log(`${announcement} CHROMIUM_INSTALL=never forbids it.`)
    return (installPackages("chromium") ? find() : undefined) ?? (installPlaywright() ? find() : undefined)
  },
  missing:
    (isForbidden
      ? "No Chromium was found, and CHROMIUM_INSTALL=never forbids installing one, so the browser tests cannot run. "
      : "No Chromium was found and none could be installed, so the browser tests cannot run. ") +
    "Install one (Debian: apt-get install chromium) or set CHROMIUM_PATH to yours."
}

/** What playwright's `chromium.launch` takes. */
export interface LaunchOptions {
  readonly executablePath: string
  readonly headless: boolean
  readonly args: Array<string>
}

/**
 * Chromium loads two pages for its address bar with every profile, which costs more than a page of
 * the console. It heeds only the last switch of this name: what Playwright disables is here too.
 */
const disabledFeatures = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch"
]

/**
 * How every test starts it: with an empty profile, in a way that works in a container without a
 * network, with a microphone that plays beeps, and with these switches. Undefined: the tests that
 * need one are skipped.
 */
export const launchOptions = (...switches: ReadonlyArray<`--${string}`>): LaunchOptions | undefined => {
  const executablePath = forTests(program)
  if (executablePath === undefined) return undefined
  return {
    executablePath,
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
      `--disable-features=${disabledFeatures.join(",")}`,
      ...switches
    ]
  }
}
