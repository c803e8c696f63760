// Finds Perl with OpenAPI::Client, which makes a client class of an OpenAPI document, or installs
// Debian's package as root.
//
//   node tests/services/src/perl.mjs            finds or installs, prints the path of perl
//   node tests/services/src/perl.mjs --find     only finds; prints nothing and exits with 1 if it is missing
//
// PERL_INSTALL=never forbids the installation. `npm test` calls it before the tests. Without it the
// test of a generated Perl client is skipped, and with CI=true the run fails.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { findProgram, installPackages, isRoot } from "./apt.mjs"

const packages = ["perl", "libopenapi-client-perl", "libyaml-libyaml-perl"]

/** The path of a perl that has the module, or undefined. */
export const findPerl = () => {
  const perl = findProgram("perl")
  return perl !== undefined && spawnSync(perl, ["-MOpenAPI::Client", "-e", "1"]).status === 0 ? perl : undefined
}

/** The perl for a test. Undefined where there is none: then the test is skipped. */
export const perlProgram = () => {
  const found = findPerl()
  if (found === undefined && process.env.CI) throw new Error("no OpenAPI::Client for Perl; `npm test` says why")
  return found
}

/** The perl, installed if necessary; undefined if it is not there and could not be installed. */
export const ensurePerl = () => {
  const found = findPerl()
  if (found !== undefined || process.env.PERL_INSTALL === "never" || !isRoot) return found
  console.log(
    "No OpenAPI::Client for Perl was found for the test of a generated client. Installing as root with apt-get: " +
      `${packages.join(", ")} (about 2 MB). PERL_INSTALL=never forbids it.`
  )
  return installPackages(...packages) ? findPerl() : undefined
}

export const noPerl =
  (process.env.PERL_INSTALL === "never"
    ? "No OpenAPI::Client for Perl was found, and PERL_INSTALL=never forbids installing it, so no Perl client can be tested. "
    : "No OpenAPI::Client for Perl was found and it could not be installed, so no Perl client can be tested. ") +
  `Install it (Debian: apt-get install ${packages.join(" ")}).`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = process.argv.includes("--find") ? findPerl() : ensurePerl()
  if (found !== undefined) console.log(found)
  else {
    if (!process.argv.includes("--find")) console.error(noPerl)
    process.exitCode = 1
  }
}
