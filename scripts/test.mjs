// `npm test`: sets up, then checks format, lint and types and runs the tests. Every step runs,
// whatever failed before it, so that one run shows every failure; the last lines say what
// failed and how many tests passed.
//
// `npm run test:release`: what takes minutes. It attacks the gateway, kills it, breaks what it uses,
// does what an operator does, looks at every panel of the sample in a browser, and runs the packed
// packages on every runtime. CI runs it in a job of its own.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { env, groups, root, run, setup } from "./setup.mjs"

const isRelease = process.argv.includes("--release")
const ofRelease = ["tests/faults", "tests/hostile", "tests/operate"]
if (isRelease) env.SLOW_TESTS = "1"

/** Whether it has files that take minutes, which its vitest.config.ts names. */
const hasSlowFiles = (folder) => readFileSync(join(folder, "vitest.config.ts"), "utf8").includes("withSlow(")

/** The folders that have tests: the root has those of the workspace as a whole. */
const tested = [
  root,
  ...groups.flatMap((group) => readdirSync(join(root, group)).map((name) => join(root, group, name)))
]
  .filter((folder) => existsSync(join(folder, "vitest.config.ts")))
  .filter((folder) => {
    const isOfRelease = ofRelease.includes(relative(root, folder))
    return isRelease ? isOfRelease || hasSlowFiles(folder) : !isOfRelease
  })

// Delete the reports of earlier runs. turbo restores those of cached tests.
for (const folder of tested) rmSync(join(folder, "test-results"), { recursive: true, force: true })

setup()

const failedSteps = []

const step = (title, command, args) => {
  console.log(`\n── ${title}`)
  const started = performance.now()
  if (!run(command, args).ok) failedSteps.push(title)
  else console.log(`   ok, ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

// Finds or installs what some tests need. Without it they are skipped, except in CI.
step("services", "node", ["tests/services/src/main.ts", ...(isRelease ? ["--release"] : [])])
// Two packages at a time: with three, a test timed out on two cores.
const turbo = ["--continue", "--log-order=grouped", "--log-prefix=none", "--concurrency=2"]
if (!isRelease) {
  step("format", "oxfmt", ["--check"])
  step("lint", "oxlint", ["--quiet"])
  step("types", "turbo", ["run", "check", ...turbo, "--output-logs=errors-only"])
}
const filters = isRelease
  ? tested.map((folder) => `--filter={./${relative(root, folder)}}`)
  : ofRelease.map((folder) => `--filter=!{./${folder}}`)
step("tests", "turbo", ["run", "test", "test:workspace", ...filters, ...turbo, "--output-logs=new-only"])

/**
 * One row a package from the reports that vitest wrote; a package with tests and no report has
 * failed.
 */
const rows = tested.map((folder) => {
  const name = relative(root, folder) || "workspace"
  const file = join(folder, "test-results", "vitest.json")
  if (!existsSync(file)) return { name, passed: 0, failed: 0, problems: ["its tests did not run to an end"] }
  const report = JSON.parse(readFileSync(file, "utf8"))
  const problems = report.testResults.flatMap((suite) => {
    const where = relative(folder, suite.name)
    const failures = suite.assertionResults.filter((test) => test.status === "failed")
    // A file that does not even load has no tests to count; it counts as one failure.
    if (failures.length === 0 && suite.status === "failed") return [where]
    return failures.map((test) => `${where} > ${[...test.ancestorTitles, test.title].join(" > ")}`)
  })
  return { name, passed: report.numPassedTests, failed: problems.length, problems }
})

console.log("\n── summary")
const width = Math.max(...rows.map((row) => row.name.length))
for (const { failed, name, passed, problems } of rows) {
  console.log(`   ${name.padEnd(width)}  ${passed} passed${problems.length > 0 ? `, ${failed} failed` : ""}`)
  for (const problem of problems) console.log(`      ✗ ${problem}`)
}
for (const title of failedSteps) console.log(`   failed: ${title}`)

const passed = rows.reduce((sum, row) => sum + row.passed, 0)
const failed = rows.reduce((sum, row) => sum + row.failed, 0)
const summary = `${passed} passed, ${failed} failed`
mkdirSync(join(root, "test-results"), { recursive: true })
writeFileSync(join(root, "test-results", "summary.txt"), `${summary}\n`)
console.log(`\n${summary}`)

// No test at all is a failure too: it means that the run looked in the wrong place.
const good = failedSteps.length === 0 && passed > 0 && rows.every((row) => row.problems.length === 0)
process.exitCode = good ? 0 : 1
