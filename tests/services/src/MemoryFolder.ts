/** Where tests keep temporary files: databases, uploads, data folders of gateways. */
import { readFileSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"

const shared = "/dev/shm"

/** A container may have 64 MB there. One test uploads a file of 2 GiB. */
const minFreeBytes = 4 * 1024 ** 3

/** Tests start scripts that they write. */
const canExecute = (): boolean =>
  readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .some(([, folder, , options = ""]) => folder === shared && !options.split(",").includes("noexec"))

const isSuitable = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(shared)
    return bavail * bsize >= minFreeBytes && canExecute()
  } catch {
    return false
  }
}

/**
 * A folder in memory if the system has one with enough room, because the tests create hundreds of
 * databases. Otherwise, or if `TMPDIR` is set, the system's folder for temporary files.
 */
export const memoryFolder = (): string => (process.env["TMPDIR"] === undefined && isSuitable() ? shared : tmpdir())
