/** The programs of age, which encrypt files, for the release tests. */
import { findProgram, forTests, fromDebian } from "./Program.ts"

/** The paths of the programs. */
export interface AgePrograms {
  readonly age: string
  readonly keygen: string
}

export const program = fromDebian<AgePrograms>({
  name: "age",
  title: "age",
  purpose: "the test of backups",
  packages: ["age"],
  megabytes: 5,
  find: () => {
    const age = findProgram("age")
    const keygen = findProgram("age-keygen")
    return age === undefined || keygen === undefined ? undefined : { age, keygen }
  }
})

/** The programs. Undefined if one is missing: the test is skipped. */
export const agePrograms = (): AgePrograms | undefined => forTests(program)
