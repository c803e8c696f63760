/** Python, whose standard library is enough for its example. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { findProgram, forTests, fromDebian } from "./Program.ts"

const debians = "/usr/bin/python3"

const isRecent = (python: string): boolean =>
  spawnSync(python, ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0

export const program = fromDebian({
  name: "python",
  title: "Python 3.9 or newer",
  purpose: "the example for Python",
  packages: ["python3"],
  megabytes: 20,
  find: () => {
    // The first one in the PATH may be a script that chooses another, which takes longer.
    const python = existsSync(debians) ? debians : findProgram("python3")
    return python !== undefined && isRecent(python) ? python : undefined
  }
})

/** The path of a Python. Undefined: the test is skipped. */
export const pythonProgram = (): string | undefined => forTests(program)
