/**
 * A small Debian that systemd boots in a container, for the release tests of the unit. It needs
 * root, and has Node and npm in `/usr/bin`. It shares the network of this machine.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type Ended, root as repository, run as runCommand } from "./Command.ts"
import { makeDebian } from "./Containers.ts"
import { start } from "./GatewayProcess.ts"
import { findProgram, forTests, fromDebian, isRoot } from "./Program.ts"

export const program = fromDebian({
  name: "nspawn",
  title: "systemd-nspawn",
  purpose: "the tests of the systemd unit",
  packages: ["systemd-container", "mmdebstrap"],
  megabytes: 15,
  find: () =>
    ["mmdebstrap", "unshare", "nsenter"].every((name) => findProgram(name) !== undefined)
      ? findProgram("systemd-nspawn")
      : undefined
})

/** Whether tests can boot one. In CI they can where they run as root. */
export const hasMachines = (): boolean => isRoot && forTests(program) !== undefined

export interface Machine {
  /** The folder of its root. */
  readonly root: string
  /** Runs a command in it as root, to its end. */
  readonly run: (command: string, ...args: ReadonlyArray<string>) => Promise<Ended>
  /** Ends it, and deletes its root. */
  readonly remove: () => Promise<void>
}

/**
 * Where both versions of control groups are mounted, systemd sees only version 2. It has a group of
 * its own, because a group with other processes cannot have groups below it. `$1` is its name.
 */
const boot = `
if [ -d /sys/fs/cgroup/unified ]; then umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; fi
mkdir -p "/sys/fs/cgroup/$1/main" && echo $$ > "/sys/fs/cgroup/$1/main/cgroup.procs"
shift; exec systemd-nspawn --boot --register=no --keep-unit --link-journal=no --resolv-conf=copy-host --machine=gateway "$@"
`

/** Deletes the groups of the machine, which are empty. `$1` is the name of its group. */
const forget = `for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  if [ -d "$folder/$1" ]; then find "$folder/$1" -depth -type d -exec rmdir {} +; fi
done`

/**
 * The certificate authorities of this machine, where the registry of packages has one of its own.
 */
const authorities = process.env["NODE_EXTRA_CA_CERTS"]

const authoritiesInside = "/etc/ssl/extra.pem"

const environment = [
  "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
  "HOME=/root",
  "LANG=C.UTF-8",
  "NO_COLOR=1",
  "SYSTEMD_PAGER=",
  ...(authorities === undefined
    ? []
    : [`NODE_EXTRA_CA_CERTS=${authoritiesInside}`, `npm_config_cafile=${authoritiesInside}`])
]

/** Boots it, and waits until all its services have started. */
export const startMachine = async (): Promise<Machine> => {
  const npm = findProgram("npm")
  if (npm === undefined) throw new Error("no npm in the PATH")
  // Not in the temporary folder of the tests, which is in memory.
  const folder = mkdtempSync("/var/tmp/model-gateway-machine-")
  const root = join(folder, "root")
  const group = folder.slice(folder.lastIndexOf("/") + 1)
  let inside: ReadonlyArray<string> = []
  const run: Machine["run"] = (command, ...args) =>
    runCommand("nsenter", [...inside, "--", "env", "-i", ...environment, command, ...args], { cwd: repository })
  const remove = async () => {
    await runCommand("sh", ["-c", forget, "sh", group], { cwd: "/" })
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    makeDebian(root, ["systemd", "systemd-sysv", "dbus", "libnss-systemd", "libstdc++6", "openssl"])
    cpSync(realpathSync(process.execPath), join(root, "usr/bin/node"))
    mkdirSync(join(root, "usr/lib/node_modules"))
    cpSync(dirname(dirname(realpathSync(npm))), join(root, "usr/lib/node_modules/npm"), {
      recursive: true,
      dereference: true
    })
    symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/bin/npm"))
    if (authorities !== undefined) cpSync(authorities, join(root, authoritiesInside))

    const unshare = ["--mount", "--propagation", "private", "sh", "-c", boot, "sh", group, `--directory=${root}`]
    const running = start("unshare", unshare, { cwd: "/" })
    const stop = async () => {
      // systemd-nspawn tells systemd to power off, and kills it with the second signal.
      running.signal("SIGTERM")
      await Promise.race([running.ended, sleep(60_000, undefined, { ref: false })])
      await running.stop()
      await remove()
    }
    try {
      await running.prints(/Welcome to/)
      const [leader = ""] = readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, "utf8").trim().split(" ")
      inside = ["--target", leader, "--mount", "--uts", "--ipc", "--pid", "--cgroup"]
      for (let waited = 0; ; waited += 500) {
        const { stdout } = await run("systemctl", "is-system-running")
        if (/^(?:running|degraded)$/m.test(stdout)) break
        if (waited > 120_000) throw new Error(`systemd does not get ready: ${stdout}`)
        await sleep(500)
      }
    } catch (cause) {
      await stop()
      throw cause
    }
    return { root, run, remove: stop }
  } catch (cause) {
    await remove()
    throw cause
  }
}
