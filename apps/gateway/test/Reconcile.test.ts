import { Schema } from "effect"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { database, run } from "./Commands.ts"
import * as Executable from "./Executable.ts"

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
)

const workspaceOf = (json: string): string => decode(json).data.id

/** A folder with abandoned reservations of these ids. */
const abandoned = async (...ids: ReadonlyArray<string>) => {
  const dataDir = await database()
  const { stdout } = await run(["credits", "add", "--amount", "1", "--json", "--data-dir", dataDir])
  const workspaceId = workspaceOf(stdout)
  const db = new DatabaseSync(`${dataDir}/gateway.db`)
  const insert = db.prepare(
    `INSERT INTO reservations (id, state, key_hash, workspace_id, operation, model, amount_micro, is_byok, byok_extra_micro, day_start, reserved_at, abandoned_at)
     VALUES (?, 'abandoned', 'hash', ?, 'rerank', 'test/rank', 2000, 0, 0, 0, 1000, 1767225600000)`
  )
  db.exec("BEGIN")
  for (const id of ids) insert.run(id, workspaceId)
  db.exec("COMMIT")
  db.close()
  return { dataDir, workspaceId }
}

describe("reconcile", { timeout: 60_000 }, () => {
  it("lists what a dead process has left, with exit code 3, in a table and as JSON", async () => {
    const { dataDir, workspaceId } = await abandoned("gen-1")
    const table = await run(["reconcile", "--data-dir", dataDir])
    expect(table.code).toBe(3)
    expect(table.stdout).toMatch(/^Abandoned: .*gen-1 +rerank +test\/rank .* 0\.002 /s)
    const { code, stdout } = await run(["reconcile", "--json", "--since", "2026-01-01", "--data-dir", dataDir])
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toEqual({
      abandoned: [
        {
          id: "gen-1",
          operation: "rerank",
          model: "test/rank",
          workspace_id: workspaceId,
          key_hash: "hash",
          job_id: null,
          amount: 0.002,
          is_byok: false,
          reserved_at: "1970-01-01T00:00:01.000Z",
          abandoned_at: "2026-01-01T00:00:00.000Z"
        }
      ],
      overruns: [],
      late: [],
      open: []
    })
    const later = await run(["reconcile", "--since", "2026-01-02T00:00:00Z", "--data-dir", dataDir])
    expect(later).toMatchObject({ code: 0, stdout: "There are no abandoned reservations.\n" })
    const wrong = await run(["reconcile", "--since", "yesterday", "--data-dir", dataDir])
    expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: "" })
    expect(wrong.stderr).toContain("--since")
  })

  it("prints a long report completely to a pipe", async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `gen-${index}`)
    const { dataDir } = await abandoned(...ids)
    const { code, stdout } = await Executable.run(["reconcile", "--json", "--data-dir", dataDir])
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toHaveProperty("abandoned.length", ids.length)
  })

  it("settles and dismisses each reservation once", async () => {
    const { dataDir, workspaceId } = await abandoned("gen-1", "gen-2")
    const settle = ["reconcile", "settle", "gen-1", "--cost", "0.0015", "--data-dir", dataDir]
    expect(await run(settle)).toMatchObject({
      code: 0,
      stdout: `Charged 0.0015 credits to workspace ${workspaceId} for gen-1.\n`
    })
    const again = await run(settle)
    expect(again.code).toBe(1)
    expect(again.stderr).toMatch(/^There is no abandoned reservation gen-1\./)
    const dismissed = await run(["reconcile", "dismiss", "gen-2", "--json", "--data-dir", dataDir])
    expect(JSON.parse(dismissed.stdout)).toEqual({ id: "gen-2", dismissed: true })
    const { code, stdout } = await run(["reconcile", "--json", "--data-dir", dataDir])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ abandoned: [], late: [{ id: "gen-1", cost: 0.0015, provider: null }] })
    const { stdout: credits } = await run(["credits", "add", "--amount", "1", "--json", "--data-dir", dataDir])
    expect(JSON.parse(credits)).toMatchObject({ data: { credits: 11.9985 } })
  })

  it("rejects a negative cost and one without a number", async () => {
    const { dataDir } = await abandoned("gen-1")
    for (const cost of ["-1", "much"]) {
      const { code, stderr } = await run(["reconcile", "settle", "gen-1", `--cost=${cost}`, "--data-dir", dataDir])
      expect(code).toBe(2)
      expect(stderr).toContain("--cost")
    }
    expect((await run(["reconcile", "--data-dir", dataDir])).code).toBe(3)
  })
})
