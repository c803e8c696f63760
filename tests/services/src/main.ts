/**
 * Finds or installs what tests need and the install of npm packages does not bring.
 *
 * - `node tests/services/src/main.ts`: `npm test` runs it first. It prints what is missing. Tests
 *   that need it are skipped. With `CI=true` it fails.
 * - `node tests/services/src/main.ts redis`: prints the paths of one of them, or fails.
 *
 * `REDIS_INSTALL=never` and the like forbid an installation.
 */
import * as Chromium from "./Chromium.ts"
import * as Perl from "./Perl.ts"
import * as Postgres from "./Postgres.ts"
import type { Program } from "./Program.ts"
import * as Python from "./Python.ts"
import * as Redis from "./Redis.ts"
import * as S3 from "./S3.ts"
import * as Speech from "./Speech.ts"

const programs: ReadonlyArray<Program<string | object>> = [
  Chromium.program,
  Speech.program,
  Perl.program,
  Python.program,
  Postgres.program,
  Redis.program,
  S3.program
]

const names = process.argv.slice(2)

for (const { ensure, missing } of programs.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const found = ensure()
  if (found === undefined) {
    console.error(missing)
    if (names.length > 0 || process.env["CI"]) process.exitCode = 1
  } else if (names.length > 0) {
    console.log(typeof found === "string" ? found : Object.values(found).join("\n"))
  }
}
