/**
 * Finds or installs what tests need and the install of npm packages does not bring.
 *
 * - `node tests/services/src/main.ts`: `npm test` runs it first. It prints what is missing. Tests
 *   that need it are skipped. With `CI=true` it fails.
 * - `node tests/services/src/main.ts --release`: the same, with what only the release tests need.
 * - `node tests/services/src/main.ts redis`: prints the paths of one of them, or fails.
 *
 * `REDIS_INSTALL=never` and the like forbid an installation.
 */
import * as Age from "./Age.ts"
import * as Chromium from "./Chromium.ts"
import * as Containers from "./Containers.ts"
import * as Faketime from "./Faketime.ts"
import * as Helm from "./Helm.ts"
import * as Perl from "./Perl.ts"
import * as Postgres from "./Postgres.ts"
import * as PostgresPrograms from "./PostgresPrograms.ts"
import type { Program } from "./Program.ts"
import * as Prometheus from "./Prometheus.ts"
import * as Proxies from "./Proxies.ts"
import * as Python from "./Python.ts"
import * as Redis from "./Redis.ts"
import * as S3 from "./S3.ts"
import * as Speech from "./Speech.ts"
import * as Systemd from "./Systemd.ts"
import * as SystemdMachine from "./SystemdMachine.ts"

const programs: ReadonlyArray<Program<string | object>> = [
  Chromium.program,
  Speech.program,
  Perl.program,
  Python.program,
  Postgres.program,
  Redis.program,
  S3.program
]

/** What only `npm run test:release` needs. */
const ofRelease: ReadonlyArray<Program<string | object>> = [
  Age.program,
  Containers.program,
  Faketime.program,
  Helm.program,
  PostgresPrograms.program,
  Prometheus.program,
  Proxies.nginx,
  Proxies.caddy,
  Systemd.program,
  SystemdMachine.program
]

const args = process.argv.slice(2)
const names = args.filter((arg) => arg !== "--release")

const wanted =
  names.length === 0
    ? [...programs, ...(args.includes("--release") ? ofRelease : [])]
    : [...programs, ...ofRelease].filter(({ name }) => names.includes(name))

for (const { ensure, missing } of wanted) {
  const found = ensure()
  if (found === undefined) {
    console.error(missing)
    if (names.length > 0 || process.env["CI"]) process.exitCode = 1
  } else if (names.length > 0) {
    console.log(typeof found === "string" ? found : Object.values(found).join("\n"))
  }
}
