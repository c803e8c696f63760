import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { run } from "./Commands.ts"
import { folder } from "./Executable.ts"

describe("credits add", () => {
  it("adds the exact amount to the default workspace", async () => {
    const dataDir = folder()
    await run(["credits", "add", "--amount", "0.1", "--data-dir", dataDir])
    await run(["credits", "add", "--amount", "0.2", "--note", "gift", "--data-dir", dataDir])
    const { code, stdout } = await run(["credits", "add", "--amount", "0.000001", "--json", "--data-dir", dataDir])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ added: 0.000001, balance: 10.300001, available: 10.300001 })
  })

  it("starts with the initial credits of the settings", async () => {
    const { stdout } = await run(["credits", "add", "--amount", "1", "--data-dir", folder()], {
      MODEL_GATEWAY_INITIAL_CREDITS: "2.5"
    })
    expect(stdout).toMatch(/^Added 1 credits to workspace \S+\. Its balance is 3\.5\.\n$/)
  })

  it.each(["-5", "0.0000001", "0.0000015", "1e30", "Infinity", "much"])("rejects %s credits", async (amount) => {
    const dataDir = folder()
    const { code, stderr, stdout } = await run(["credits", "add", `--amount=${amount}`, "--data-dir", dataDir])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain(`--amount: "${amount}". Expected a number of credits from 0.000001 to 9007199254`)
    expect(existsSync(join(dataDir, "gateway.db"))).toBe(false)
    const after = await run(["credits", "add", "--amount", "1", "--json", "--data-dir", dataDir])
    expect(JSON.parse(after.stdout)).toMatchObject({ balance: 11 })
  })

  it("rejects an amount that is too large to count, and adds nothing", async () => {
    const dataDir = folder()
    const { code, stderr } = await run(["credits", "add", "--amount", "9007199254", "--data-dir", dataDir])
    expect({ code, stderr }).toEqual({ code: 1, stderr: "The balance would be larger than can be counted.\n" })
    const after = await run(["credits", "add", "--amount", "1", "--json", "--data-dir", dataDir])
    expect(JSON.parse(after.stdout)).toMatchObject({ balance: 11 })
  })

  it("says that the amount is missing", async () => {
    const { code, stderr } = await run(["credits", "add", "--data-dir", folder()])
    expect(code).toBe(1)
    expect(stderr).toContain("--amount")
  })
})

describe("credits show", () => {
  it("shows what was added, used and left", async () => {
    const dataDir = folder()
    await run(["credits", "add", "--amount", "0.5", "--data-dir", dataDir])
    const { stdout } = await run(["credits", "show", "--json", "--data-dir", dataDir])
    expect(JSON.parse(stdout)).toEqual({ data: { total_credits: 10.5, total_usage: 0 } })
    expect((await run(["credits", "show", "--data-dir", dataDir])).stdout).toMatch(
      /added +10\.5\n +used +0\n +left +10\.5/
    )
  })
})
