/** Perl with OpenAPI::Client, which makes a client class of an OpenAPI document. */
import { spawnSync } from "node:child_process"
import { findProgram, forTests, fromDebian } from "./Program.ts"

export const program = fromDebian({
  name: "perl",
  title: "OpenAPI::Client for Perl",
  purpose: "the test of a generated client",
  packages: ["perl", "libopenapi-client-perl", "libyaml-libyaml-perl"],
  megabytes: 2,
  find: () => {
    const perl = findProgram("perl")
    return perl !== undefined && spawnSync(perl, ["-MOpenAPI::Client", "-e", "1"]).status === 0 ? perl : undefined
  }
})

/** The path of a perl that has the module. Undefined: the test is skipped. */
export const perlProgram = (): string | undefined => forTests(program)
