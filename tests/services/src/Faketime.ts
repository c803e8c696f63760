/** libfaketime, which gives a process another time than the machine has, for the release tests. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { forTests, fromDebian } from "./Program.ts"

export const program = fromDebian({
  name: "faketime",
  title: "libfaketime",
  purpose: "the test of an operator's year",
  packages: ["libfaketime"],
  megabytes: 1,
  find: () =>
    // Debian has it in a folder for each architecture. The tests need it on Linux only.
    (existsSync("/usr/lib") ? readdirSync("/usr/lib") : [])
      .map((folder) => join("/usr/lib", folder, "faketime/libfaketimeMT.so.1"))
      .find((path) => existsSync(path))
})

/**
 * The environment of a process whose clock is behind by so many seconds. Its timers are not: they
 * use the monotonic clock. Undefined if the library is missing: the test is skipped.
 */
export const clockBehind = (seconds: number): Readonly<Record<string, string>> | undefined => {
  const library = forTests(program)
  return library === undefined
    ? undefined
    : { LD_PRELOAD: library, FAKETIME: `-${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: "1" }
}
