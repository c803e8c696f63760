/** Programs that tests need and a machine may lack: how they are found and installed. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Something that tests need. Without it they are skipped, and with `CI=true` they fail. */
export interface Program<Found> {
  /** The name for the command line: `redis`. */
  readonly name: string
  /** Where it is, or undefined. */
  readonly find: () => Found | undefined
  /** Where it is, installed if necessary. Undefined if it could not be installed. */
  readonly ensure: () => Found | undefined
  /** Why tests cannot use it, and how to install it. */
  readonly missing: string
}

/** Where it is, for a test. Undefined: the test is skipped. Throws in CI instead. */
export const forTests = <Found>({ find, name }: Program<Found>): Found | undefined => {
  const found = find()
  if (found === undefined && process.env["CI"]) throw new Error(`no ${name} to test with; \`npm test\` says why`)
  return found
}

/** The path of the first of these programs that is in the PATH, or undefined. */
export const findProgram = (...names: ReadonlyArray<string>): string | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path))

export const isRoot = process.getuid?.() === 0

/** Runs a command to its end. Only its errors are printed. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): boolean =>
  spawnSync(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 600_000
  }).status === 0

/**
 * Whether the packages were installed. Only root can install, and only where there is an apt-get.
 */
export const installPackages = (...packages: ReadonlyArray<string>): boolean => {
  if (!isRoot || spawnSync("apt-get", ["--version"]).status !== 0) return false
  const env = { DEBIAN_FRONTEND: "noninteractive" }
  const options = ["-qq", "-o", "DPkg::Lock::Timeout=120"]
  const install = [...options, "install", "-y", "--no-install-recommends", ...packages]
  return run("apt-get", [...options, "update"], env) && run("apt-get", install, env)
}

/** A program that Debian has a package of. */
export interface DebianProgram<Found> {
  readonly name: string
  /** In messages: `redis-server`. */
  readonly title: string
  /** In messages: `the tests with Redis`. */
  readonly purpose: string
  readonly packages: ReadonlyArray<string>
  /** The size of the packages. */
  readonly megabytes: number
  readonly find: () => Found | undefined
}

/** Installs the packages as root, unless the variable `<NAME>_INSTALL` is `never`. */
export const fromDebian = <Found>(options: DebianProgram<Found>): Program<Found> => {
  const { find, megabytes, name, packages, purpose, title } = options
  const variable = `${name.toUpperCase()}_INSTALL`
  const isForbidden = process.env[variable] === "never"
  const none = `No ${title} was found for ${purpose}`
  return {
    name,
    find,
    ensure: () => {
      const found = find()
      if (found !== undefined || isForbidden || !isRoot) return found
      console.log(
        `${none}. Installing as root with apt-get: ${packages.join(", ")} (about ${megabytes} MB). ` +
          `${variable}=never forbids it.`
      )
      return installPackages(...packages) ? find() : undefined
    },
    missing:
      (isForbidden ? `${none}, and ${variable}=never forbids installing it. ` : `${none}, and none was installed. `) +
      `Install it (Debian: apt-get install ${packages.join(" ")}).`
  }
}
