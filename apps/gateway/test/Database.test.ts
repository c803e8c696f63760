import { describe, expect, it } from "vitest"
import { hasPostgres } from "@model-gateway/test-services/Postgres"
import { run } from "./Commands.ts"
import { folder } from "./Executable.ts"
import { startServer } from "./PostgresServer.ts"

describe("the database", () => {
  it("is rejected in one sentence that does not show the URL if the URL is not valid", async () => {
    for (const url of ["mysql://user:hidden@host/db", "hidden", "postgres://"]) {
      const { code, stderr, stdout } = await run(["keys", "list", "--data-dir", folder()], { DATABASE_URL: url })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(
        /^DATABASE_URL in the environment .*postgres:\/\/user:password@host:5432\/database[^\n]*\n$/
      )
      expect(stderr).not.toContain("hidden")
    }
  })

  it("that does not answer ends a command with one sentence, without the password", async () => {
    const { code, stderr, stdout } = await run(["keys", "list", "--data-dir", folder()], {
      DATABASE_URL: "postgres://user:hidden@127.0.0.1:1/db"
    })
    expect({ code, stderr, stdout }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Nothing accepts connections at the address of the database URL. The database is Postgres at 127.0.0.1:1/db.\n"
    })
  })

  it.runIf(hasPostgres())("is Postgres for the administration commands if DATABASE_URL names it", async () => {
    const environment = { DATABASE_URL: (await startServer()).url }
    // A database without tables is not migrated in passing, and its password is not shown.
    const { port, password } = new URL(environment.DATABASE_URL)
    const refused = await run(["keys", "create", "--data-dir", folder()], environment)
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" })
    expect(refused.stderr).toMatch(/Run model-gateway migrate first.* The database is Postgres at /)
    expect(refused.stderr).toContain(`:${port}/`)
    if (password !== "") expect(refused.stderr).not.toContain(password)
    expect((await run(["migrate", "--data-dir", folder()], environment)).code).toBe(0)
    const made = await run(["keys", "create", "--name", "here", "--json", "--data-dir", folder()], environment)
    expect(made).toMatchObject({ code: 0, stderr: "" })
    const listed = await run(["keys", "list", "--json", "--data-dir", folder()], environment)
    expect(listed.stdout).toContain('"here"')
    const added = await run(["credits", "add", "--amount", "5", "--data-dir", folder()], environment)
    expect(added.stdout).toContain("Its balance is 15.")
  })
})
