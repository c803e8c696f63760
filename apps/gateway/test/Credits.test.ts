import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { database, run } from "./Commands.ts"
import { folder } from "./Executable.ts"

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
)

describe("credits add", () => {
  it("adds the exact amount to the default workspace, or to the one with the slug or the id", async () => {
    const dataDir = await database()
    const add = async (amount: string, ...args: ReadonlyArray<string>) =>
      run(["credits", "add", "--amount", amount, "--data-dir", dataDir, ...args])
    await add("0.1")
    await add("0.2", "--note", "gift")
    const { code, stdout } = await add("0.000001", "--json")
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ data: { slug: "default", credits: 10.300001 } })

    const made = await run(["workspaces", "create", "search-team", "--json", "--data-dir", dataDir])
    const { id } = decode(made.stdout).data
    expect((await add("2", "--workspace", "search-team")).stdout).toBe(
      "Added 2 credits to workspace search-team. Its balance is 2.\n"
    )
    expect((await add("0.5", "--workspace", id)).stdout).toContain("Its balance is 2.5.")
    const shown = await run(["credits", "show", "--workspace", "search-team", "--data-dir", dataDir])
    expect(shown.stdout).toMatch(/added +2\.5\n +used +0\n +left +2\.5/)
    const place = ["--workspace", "search-team", "--data-dir", dataDir]
    const taken = await run(["credits", "correct", "--amount", "0.25", "--note", "twice", ...place])
    expect(taken.stdout).toBe("Took 0.25 credits from workspace search-team. Its balance is 2.25.\n")
    const ledger = await run(["credits", "ledger", ...place])
    expect(ledger.stdout).toMatch(
      /TIME.*\n.* correction +-0\.25 +2\.25 +operator +twice\n.* added +0\.5 +2\.5 +operator *\n.* added +2 +2 +operator *\n/
    )
    await add("0.25", "--workspace", "search-team")
    const all = await run(["credits", "show", "--json", "--data-dir", dataDir])
    expect(JSON.parse(all.stdout)).toEqual({ data: { total_credits: 12.800001, total_usage: 0 } })
  })

  it("starts with the initial credits of the settings", async () => {
    const { stdout } = await run(["credits", "add", "--amount", "1", "--data-dir", await database()], {
      MODEL_GATEWAY_INITIAL_CREDITS: "2.5"
    })
    expect(stdout).toBe("Added 1 credits to workspace default. Its balance is 3.5.\n")
  })

  it.each(["-5", "0.0000001", "0.0000015", "1e30", "1000000001", "Infinity", "much"])(
    "rejects %s credits before it opens the database",
    async (amount) => {
      const { code, stderr, stdout } = await run(["credits", "add", `--amount=${amount}`, "--data-dir", folder()])
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toContain(`--amount: "${amount}". Expected a number of credits from 0.000001 to 1000000000`)
    }
  )

  it("says that the amount is missing", async () => {
    const { code, stderr } = await run(["credits", "add", "--data-dir", folder()])
    expect(code).toBe(2)
    expect(stderr).toContain("--amount")
  })
})
