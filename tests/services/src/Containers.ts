/**
 * A container engine, for the release tests of the image: Docker where its engine runs, else Podman
 * as root. Podman's images are in a folder of their own.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Ended, root, run as runCommand } from "./Command.ts"
import { findProgram, forTests, fromDebian, isRoot } from "./Program.ts"

export interface Engine {
  readonly name: "docker" | "podman"
  /** Runs a command of the engine to its end. */
  readonly run: (...args: ReadonlyArray<string>) => Promise<Ended>
  /** Options of `build` and of `run` without which they do not work here. */
  readonly build: ReadonlyArray<string>
  readonly start: ReadonlyArray<string>
  /** Removes what it stored, except with Docker. */
  readonly dispose: () => void
}

const hasDocker = (): boolean =>
  findProgram("docker") !== undefined &&
  spawnSync("docker", ["version", "--format", "{{.Server.Version}}"], { timeout: 10_000 }).status === 0

export const program = fromDebian<"docker" | "podman">({
  name: "containers",
  title: "container engine",
  purpose: "the tests of the image",
  packages: ["podman", "crun", "mmdebstrap"],
  megabytes: 90,
  find: () => {
    if (hasDocker()) return "docker"
    const needed = ["podman", "crun", "mmdebstrap", "unshare"]
    return isRoot && needed.every((name) => findProgram(name) !== undefined) ? "podman" : undefined
  }
})

/** Whether tests can start containers. Throws in CI if they cannot. */
export const hasContainers = (): boolean => forTests(program) !== undefined

const runWith =
  (command: string, before: ReadonlyArray<string>) =>
  (...args: ReadonlyArray<string>): Promise<Ended> =>
    runCommand(command, [...before, ...args], { cwd: root })

/**
 * crun does not start where both versions of control groups are mounted, and needs no group. So it
 * sees only version 2. `$0` and what follows is Podman's command.
 */
const withoutOldGroups =
  'if [ -d /sys/fs/cgroup/unified ]; then umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; fi; exec "$0" "$@"'

const podman = (): Engine => {
  // Not in the temporary folder of the tests, which is in memory.
  const folder = mkdtempSync("/var/tmp/model-gateway-containers-")
  const run = runWith("unshare", [
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    withoutOldGroups,
    "podman",
    "--root",
    join(folder, "storage"),
    "--runroot",
    join(folder, "run"),
    "--runtime",
    "crun",
    "--cgroup-manager=cgroupfs"
  ])
  return {
    name: "podman",
    run,
    build: ["--isolation=chroot", "--network=host", "--format=docker", "--layers=false"],
    start: [
      "--network=host",
      "--cgroups=disabled",
      // Podman would raise the limits, which needs a right that root lacks in some virtual
      // machines.
      "--ulimit",
      "nofile=10000:10000",
      "--ulimit",
      "nproc=10000:10000"
    ],
    dispose: () => {
      spawnSync("umount", [join(folder, "storage", "overlay")])
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

export const startEngine = (): Engine =>
  program.find() === "docker"
    ? { name: "docker", run: runWith("docker", []), build: [], start: ["--network=host"], dispose: () => {} }
    : podman()

/** Makes a root of this machine's Debian with these packages: a folder, or an archive. */
export const makeDebian = (target: string, packages: ReadonlyArray<string>): void => {
  const suite = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "trixie"
  const sources = "/etc/apt/sources.list.d/debian.sources"
  execFileSync("mmdebstrap", [
    "--mode=root",
    "--variant=essential",
    `--include=${packages.join(",")}`,
    ...["doc", "man", "locale", "info"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    suite,
    target,
    ...(existsSync(sources) ? [sources] : [])
  ])
}

/**
 * What the tests use for the official image of Node where no registry of images answers: Debian
 * from its packages, with the Node and the npm of this machine. Returns its name.
 */
export const makeNodeImage = async (engine: Engine): Promise<string> => {
  const folder = mkdtempSync("/var/tmp/model-gateway-base-")
  try {
    const npm = findProgram("npm")
    if (npm === undefined) throw new Error("no npm in the PATH")
    cpSync(dirname(dirname(realpathSync(npm))), join(folder, "npm"), { recursive: true, dereference: true })
    cpSync(process.execPath, join(folder, "node"))
    makeDebian(join(folder, "debian.tar"), ["libstdc++6"])
    // Where the registry of packages has a certificate authority of its own.
    const authorities = process.env["NODE_EXTRA_CA_CERTS"]
    mkdirSync(join(folder, "ssl"))
    if (authorities !== undefined) cpSync(authorities, join(folder, "ssl", "authorities.pem"))
    writeFileSync(
      join(folder, "Dockerfile"),
      [
        "FROM scratch",
        "ADD debian.tar /",
        "COPY node /usr/local/bin/node",
        "COPY npm /usr/local/lib/node_modules/npm",
        "COPY ssl /etc/ssl/extra",
        ...(authorities === undefined
          ? []
          : [
              "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/extra/authorities.pem npm_config_cafile=/etc/ssl/extra/authorities.pem"
            ]),
        "RUN cd /usr/local/bin && ln -s ../lib/node_modules/npm/bin/npm-cli.js npm \\",
        "  && ln -s ../lib/node_modules/npm/bin/npx-cli.js npx \\",
        "  && echo node:x:1000:1000::/home/node:/bin/sh >> /etc/passwd && echo node:x:1000: >> /etc/group \\",
        "  && install -d -o 1000 -g 1000 /home/node"
      ].join("\n")
    )
    const name = "localhost/model-gateway-test-node"
    const { code, stderr } = await engine.run("build", ...engine.build, "--tag", name, folder)
    if (code !== 0) throw new Error(stderr)
    return name
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
