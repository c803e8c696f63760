/** Checks of this machine: Node, the data folder, its permissions, the disk. */
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as Manifest from "../backup/Manifest.ts"
import * as DataFolder from "../DataFolder.ts"
import * as Database from "../Database.ts"
import * as FirstKeys from "../FirstKeys.ts"
import { nodeProblem, version } from "../Version.ts"
import { type Finding, ok, problem, skipped } from "./Finding.ts"

/** Versions of this program and of what runs it. */
export const software = (): Finding =>
  nodeProblem === undefined
    ? ok("software", `Model Gateway ${version} on Node ${process.versions.node}.`)
    : problem("software", nodeProblem)

/** The folder above it that exists. */
const existing = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder))

const mebibytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MiB`

/** Room on the disk of the data folder. */
export const disk = async (dataDir: string, reserve: number): Promise<Finding> => {
  const { bavail, bsize, ffree, files } = await statfs(existing(dataDir))
  const free = bavail * bsize
  if (free < reserve) {
    return problem(
      "disk",
      `The disk of ${dataDir} has ${mebibytes(free)} left, and ${mebibytes(reserve)} are reserved: uploads and videos get a 503.`,
      `du -sh ${join(dataDir, "*")}`
    )
  }
  // Some file systems count no files.
  if (files > 0 && ffree === 0) {
    return problem("disk", `The file system of ${dataDir} has no room for another file.`, `df -i ${dataDir}`)
  }
  return ok("disk", `${mebibytes(free)} are free on the disk of ${dataDir}.`)
}

const anyoneElse = 0o077
const noGroup = 0o007
const setgid = 0o2000

/**
 * Who else must have no access. `fsGroup` of Kubernetes gives the volume to a group of this
 * process, and that group is nobody else.
 */
const excluded = (dataDir: string): { readonly folder: number; readonly files: number } => {
  const { gid, mode, uid } = statSync(dataDir)
  if ((mode & setgid) === 0 || process.getgroups?.().includes(gid) !== true) {
    return { folder: anyoneElse, files: anyoneElse }
  }
  // A volume that is not this user's has the permissions of its file system, which only root
  // changes.
  return { folder: uid === process.getuid?.() ? noGroup : 0, files: noGroup }
}

/** Whether the data folder is there, can be written to, and is private. */
export const folder = (dataDir: string): ReadonlyArray<Finding> => {
  if (!existsSync(dataDir))
    return [skipped("folder", `There is no data folder ${dataDir} yet. The gateway creates it.`)]
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return [problem("folder", `The data folder ${dataDir} cannot be written to by this user.`, `ls -ld ${dataDir}`)]
  }
  if (process.platform === "win32") return [ok("folder", `The data folder is ${dataDir}.`)]
  const others = excluded(dataDir)
  const isOpen = (statSync(dataDir).mode & others.folder) !== 0
  const secrets = [Manifest.names.masterKey, FirstKeys.fileName].filter((name) => {
    const file = join(dataDir, name)
    return existsSync(file) && (statSync(file).mode & others.files) !== 0
  })
  const foreign = readdirSync(dataDir).filter((name) => {
    if (DataFolder.ofFileSystem.includes(name)) return false
    try {
      accessSync(join(dataDir, name), constants.W_OK)
      return false
    } catch {
      return true
    }
  })
  const findings = [
    ...(isOpen
      ? [
          problem(
            "permissions",
            `Other users of this machine can open the data folder ${dataDir}, which has requests, files and secrets.`,
            `chmod 700 ${dataDir}`
          )
        ]
      : []),
    ...secrets.map((name) =>
      problem(
        "permissions",
        `Other users of this machine can read ${join(dataDir, name)}.`,
        `chmod 600 ${join(dataDir, name)}`
      )
    ),
    ...(foreign.length > 0
      ? [
          problem(
            "permissions",
            `This user cannot write to ${foreign.join(", ")} in ${dataDir}.`,
            `chown -R "$(id -un)" ${dataDir}`
          )
        ]
      : [])
  ]
  return findings.length > 0 ? findings : [ok("folder", `The data folder ${dataDir} is private and can be written to.`)]
}

/** How far the clock may be behind what was written, and beside another one, in milliseconds. */
const tolerance = 2000

/** When the SQLite database was written last, in epoch milliseconds. 0 if it does not exist. */
export const lastWrite = (dataDir: string): number => {
  const file = Database.fileIn(dataDir)
  return Math.max(...[file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0))
}

/** The clock beside that of Postgres, or beside the time of the last write. */
export const clock = (written: number, ofDatabase: number | undefined, now: number): Finding => {
  if (ofDatabase !== undefined) {
    const ahead = now - ofDatabase
    return Math.abs(ahead) > tolerance
      ? problem(
          "clock",
          `The clock of this machine is ${Math.abs(Math.round(ahead / 1000))} seconds ${ahead > 0 ? "ahead of" : "behind"} that of Postgres. Limits reset and keys expire by it.`,
          "timedatectl status"
        )
      : ok("clock", "The clock agrees with that of Postgres.")
  }
  const ahead = written - now
  return ahead > tolerance
    ? problem(
        "clock",
        `The database was written ${Math.round(ahead / 1000)} seconds in the future: the clock of this machine was set back.`,
        "timedatectl status"
      )
    : ok("clock", "The clock is not behind what was written last.")
}
