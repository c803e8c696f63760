// Finds a Chromium for the browser tests, or installs one: Debian's package as root, else
// Playwright's own.
//
//   node tests/services/src/chromium.mjs            finds or installs, prints its path
//   node tests/services/src/chromium.mjs --find     only finds; prints nothing and exits with 1 if there is none
//
// CHROMIUM_PATH names the Chromium to use. CHROMIUM_INSTALL=never forbids the installation.
//
// `npm test` calls it before the tests. Without a Chromium the browser tests are skipped, and with
// CI=true the run fails. The tests start Chromium with `launchOptions`.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { homedir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { installPackages, isRoot, run } from "./apt.mjs"

const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)))

/** Debian and Fedora say chromium, Ubuntu's package chromium-browser; Chrome will do as well. */
const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"]

const macApplications = ["Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome"]

/** Undefined before the install. */
const playwrightFolder = () => {
  const manifest = join(packageFolder, "node_modules", "playwright-core", "package.json")
  return existsSync(manifest) ? dirname(manifest) : undefined
}

const playwrightChromium = () => {
  const folder = playwrightFolder()
  if (folder === undefined) return undefined
  const path = createRequire(import.meta.url)(folder).chromium.executablePath()
  return existsSync(path) ? path : undefined
}

/** It is there and it starts: Ubuntu has a `chromium-browser` that is a note on how to get one. */
const runs = (path) => {
  const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 20_000 })
  return status === 0 && /Chrom/.test(stdout)
}

/** The path of a Chromium that starts, or undefined. */
export const findChromium = () => {
  const candidates = [
    process.env.CHROMIUM_PATH,
    ...(process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))),
    ...["/Applications", join(homedir(), "Applications")].flatMap((folder) =>
      macApplications.map((name) => join(folder, name))
    ),
    playwrightChromium()
  ]
  return candidates.find((path) => path !== undefined && path !== "" && existsSync(path) && runs(path))
}

/**
 * How every test starts it: with an empty profile, in a way that works in a container without a
 * network, with a microphone that plays beeps, and with these switches. Undefined where there is
 * none: then the tests that need one are skipped.
 */
export const launchOptions = (...switches) => {
  const executablePath = findChromium()
  if (executablePath === undefined) {
    if (process.env.CI) throw new Error("no Chromium to test in; `npm test` says why")
    return undefined
  }
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
      ...switches
    ]
  }
}

/** Debian's own package, where there is one and this may install it. */
const installDebian = () => installPackages("chromium")

const installPlaywright = () => {
  const folder = playwrightFolder()
  if (folder === undefined) return false
  const install = (...options) => run(process.execPath, [join(folder, "cli.js"), "install", ...options, "chromium"])
  // The libraries that it needs come from the system's packages, which only root can install.
  return (isRoot && install("--with-deps")) || install()
}

const announcement = isRoot
  ? "No Chromium was found for the browser tests. Installing one as root: the system's package chromium with apt-get, " +
    "or Playwright's Chromium with the system libraries it needs. This takes about a minute."
  : "No Chromium was found for the browser tests. Installing Playwright's for this user takes about a minute."

/**
 * The path of a Chromium, installed if necessary; undefined if there is none and none could be
 * installed.
 */
export const ensureChromium = () => {
  const found = findChromium()
  if (found !== undefined) return found
  if (process.env.CHROMIUM_INSTALL === "never") return undefined
  console.log(`${announcement} CHROMIUM_INSTALL=never forbids it.`)
  for (const install of [installDebian, installPlaywright]) {
    if (install()) {
      const installed = findChromium()
      if (installed !== undefined) return installed
    }
  }
  return undefined
}

export const noChromium =
  (process.env.CHROMIUM_INSTALL === "never"
    ? "No Chromium was found, and CHROMIUM_INSTALL=never forbids installing one, so the browser tests cannot run. "
    : "No Chromium was found and none could be installed, so the browser tests cannot run. ") +
  "Install one (Debian: apt-get install chromium) or set CHROMIUM_PATH to yours."

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = process.argv.includes("--find") ? findChromium() : ensureChromium()
  if (path !== undefined) console.log(path)
  else {
    if (!process.argv.includes("--find")) console.error(noChromium)
    process.exitCode = 1
  }
}
