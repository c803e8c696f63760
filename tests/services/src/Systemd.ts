/** systemd-analyze, for the release tests of the unit. */
import { findProgram, forTests, fromDebian } from "./Program.ts"

export const program = fromDebian({
  name: "systemd",
  title: "systemd-analyze",
  purpose: "the tests of the systemd unit",
  packages: ["systemd"],
  megabytes: 10,
  find: () => findProgram("systemd-analyze")
})

/** The path of the program. Undefined: the test is skipped. */
export const systemdAnalyze = (): string | undefined => forTests(program)
