import { Keys } from "@model-gateway/core"
import { BadRequest, createClient, PaymentRequired, reveal } from "@model-gateway/node/promise"
import { Schema } from "effect"
import { existsSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { database, run } from "./Commands.ts"
import { currentKey, firstKey, folder, serve, shared } from "./Executable.ts"

const Created = Schema.fromJsonString(Schema.toEncoded(Keys.CreateResponse))
const Listed = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Keys.Key) }))
const created = Schema.decodeUnknownSync(Created)
const listed = Schema.decodeUnknownSync(Listed)

const keyForm = /mg_[sm]k_[0-9A-Za-z]{38}/

/** A gateway that runs beside the commands, on the same data folder. */
const served = shared(async (atEnd) => {
  const dataDir = folder(atEnd)
  const args = ["--initial-key-tier", "free"]
  const gateway = await serve(dataDir, args, { MODEL_GATEWAY_FREE_DAILY_REQUESTS: "7" }, { atEnd })
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  return { ...gateway, dataDir, managementKey }
})

describe("keys", () => {
  it("escapes characters that would control the terminal", async () => {
    const dataDir = await database()
    const named = ["--name", "a\u001b[2Jb\nc", "--user", "d\u001b[2Je"]
    const { stdout } = await run(["keys", "create", ...named, "--data-dir", dataDir])
    expect(stdout).toContain("d\\u{1b}[2Je")
    const table = await run(["keys", "list", "--data-dir", dataDir])
    for (const text of [stdout, table.stdout]) {
      expect(text).toContain("a\\u{1b}[2Jb\\u{a}c")
      expect(text).not.toContain("\u001b")
    }
  })

  it("counts the characters of a name as the API does", async () => {
    const dataDir = await database()
    const nameOf = async (name: string) =>
      (await run(["keys", "create", "--json", "--name", name, "--data-dir", dataDir])).stdout
    expect(created(await nameOf("🙂".repeat(256))).data.name).toHaveLength(512)
    expect(await nameOf("🙂".repeat(257))).toBe("")
  })

  it("rejects a day that does not exist", async () => {
    const args = ["keys", "create", "--expires-at", "2999-02-29T00:00:00Z", "--data-dir", folder()]
    const { code, stderr } = await run(args)
    expect([code, stderr]).toEqual([2, expect.stringContaining("--expires-at")])
  })

  it("creates a key with the given properties, and lists it without the key itself", async () => {
    const dataDir = await database()
    const args = [
      "--name",
      "ci",
      "--limit",
      "5.5",
      "--limit-reset",
      "daily",
      "--expires-at",
      "2100-01-01T00:00:00+01:00"
    ]
    const { data, key } = created((await run(["keys", "create", "--json", ...args, "--data-dir", dataDir])).stdout)
    expect(key).toMatch(keyForm)
    expect(data).toMatchObject({
      name: "ci",
      is_management_key: false,
      limit: 5.5,
      limit_remaining: 5.5,
      limit_reset: "daily",
      expires_at: "2099-12-31T23:00:00.000Z"
    })
    await run(["keys", "create", "--management", "--data-dir", dataDir])

    const list = await run(["keys", "list", "--json", "--data-dir", dataDir])
    expect(list.stdout).not.toMatch(keyForm)
    const all = listed(list.stdout).data
    expect(all).toContainEqual(data)
    expect(all.map((each) => each.is_management_key)).toEqual(expect.arrayContaining([false, true]))

    const table = await run(["keys", "list", "--data-dir", dataDir])
    expect(table.stdout).not.toMatch(keyForm)
    expect(table.stdout).toContain("5.5 of 5.5 left, daily")
    expect(table.stdout).toContain("management")
  })

  it("records what a command changes as done by the operator", async () => {
    const { dataDir, managementKey, origin } = served()
    const { data } = created(
      (await run(["keys", "create", "--json", "--name", "recorded", "--data-dir", dataDir])).stdout
    )
    await run(["keys", "update", data.hash, "--name", "renamed", "--data-dir", dataDir])
    const headers = { authorization: `Bearer ${managementKey}` }
    const answer = await fetch(`${origin}/api/v1/audit?target=${data.hash}`, { headers })
    const operator = { actor: "operator", actor_role: "admin", address: null, target_kind: "key" }
    expect(await answer.json()).toMatchObject({
      data: [
        { ...operator, action: "updateKey", before: { name: "recorded" }, after: { name: "renamed" } },
        { ...operator, action: "createKey", before: null }
      ]
    })
  })

  it("creates keys of the free tier, which a gateway refuses models with a price, and so does the client [spec D11]", async () => {
    const gateway = served()
    const { dataDir, managementKey } = gateway
    const { stdout } = await run(["keys", "create", "--free-tier", "--data-dir", dataDir])
    expect(stdout).toMatch(/kind +free tier\n/)
    const [key = ""] = keyForm.exec(stdout) ?? []
    expect((await run(["keys", "list", "--data-dir", dataDir])).stdout).toContain("free tier")

    expect(await (await currentKey(gateway.origin, key)).json()).toMatchObject({ data: { is_free_tier: true } })
    const rerank = (model: string) =>
      fetch(`${gateway.origin}/api/v1/rerank`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ model, query: "tea", documents: ["green tea"] })
      })
    const refused = await rerank("sandbox/bm25")
    expect([refused.status, await refused.text()]).toEqual([402, expect.stringContaining("is not free")])
    expect((await rerank("sandbox/bm25:free")).status).toBe(200)

    const baseUrl = `${gateway.origin}/api/v1`
    const request = { query: "tea", documents: ["green tea"] }
    await using limited = await createClient({ baseUrl, apiKey: key })
    expect((await limited.currentKey()).is_free_tier).toBe(true)
    await expect(limited.rerank({ ...request, model: "sandbox/bm25" })).rejects.toThrow("is not free")

    await using management = await createClient({ baseUrl, apiKey: managementKey })
    const made = await management.createKey({ name: "visitors", is_free_tier: true })
    expect(made.data.is_free_tier).toBe(true)
    await using visitors = await createClient({ baseUrl, apiKey: reveal(made.key) })
    expect((await visitors.currentKey()).is_free_tier).toBe(true)
    await expect(visitors.rerank({ ...request, model: "sandbox/bm25" })).rejects.toBeInstanceOf(PaymentRequired)
    expect((await visitors.rerank({ ...request, model: "sandbox/bm25:free" })).results).toHaveLength(1)
    expect((await management.updateKey(made.data.hash, { is_free_tier: false })).is_free_tier).toBe(false)
    expect((await visitors.rerank({ ...request, model: "sandbox/bm25" })).results).toHaveLength(1)
  })

  it("makes the first key one of the free tier if the settings say so, and shows a call that it can make [spec D11]", async () => {
    const gateway = served()
    const [, key = ""] = await gateway.prints(/ordinary key +(mg_sk_\w{38})/)
    await gateway.prints(/"model":"sandbox\/bm25:free"/)
    await using client = await createClient({ baseUrl: `${gateway.origin}/api/v1`, apiKey: key })
    expect((await client.currentKey()).is_free_tier).toBe(true)
    const request = { query: "tea", documents: ["green tea"] }
    await expect(client.rerank({ ...request, model: "sandbox/bm25" })).rejects.toBeInstanceOf(PaymentRequired)
    expect((await client.rerank({ ...request, model: "sandbox/bm25:free" })).results).toHaveLength(1)
  })

  it("names the user who creates a key, and keys that the key creates: the login name, another one, or none [spec D5]", async () => {
    const gateway = served()
    const { dataDir, managementKey: first } = gateway
    const create = async (...args: ReadonlyArray<string>) =>
      created((await run(["keys", "create", "--json", ...args, "--data-dir", dataDir])).stdout)
    const { username } = userInfo()
    expect((await create()).data.creator_user_id).toBe(username)
    const bound = await create("--management", "--user", "ada")
    const free = await create("--management", "--user", "")
    expect([bound.data.creator_user_id, free.data.creator_user_id]).toEqual(["ada", null])

    const key = await firstKey(gateway)
    for (const each of [first, key]) {
      expect(await (await currentKey(gateway.origin, each)).json()).toMatchObject({ data: { creator_user_id: null } })
    }
    const post = (manager: string, body: object) =>
      fetch(`${gateway.origin}/api/v1/keys`, {
        method: "POST",
        headers: { authorization: `Bearer ${manager}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ name: "k", ...body })
      })
    const named = { creator_user_id: "user_7" }
    expect(await (await post(bound.key, {})).json()).toMatchObject({ data: { creator_user_id: "ada" } })
    expect((await post(bound.key, named)).status).toBe(400)
    for (const manager of [first, free.key]) {
      expect(await (await post(manager, named)).json()).toMatchObject({ data: named })
    }

    const baseUrl = `${gateway.origin}/api/v1`
    await using ada = await createClient({ baseUrl, apiKey: bound.key })
    const { data, key: hers } = await ada.createKey({ name: "k" })
    expect(data.creator_user_id).toBe("ada")
    await using client = await createClient({ baseUrl, apiKey: reveal(hers) })
    await using page = await createClient({ baseUrl, apiKey: reveal((await client.createEphemeralKey()).key) })
    for (const each of [ada, client, page]) expect((await each.currentKey()).creator_user_id).toBe("ada")
    await expect(ada.createKey({ name: "k", ...named })).rejects.toBeInstanceOf(BadRequest)
  })

  it("revokes a key while a gateway runs, which rejects the key within seconds", async () => {
    const gateway = served()
    const { dataDir } = gateway
    const { data, key } = created((await run(["keys", "create", "--json", "--data-dir", dataDir])).stdout)
    expect((await currentKey(gateway.origin, key)).status).toBe(200)

    const revoked = await run(["keys", "revoke", data.hash.slice(0, 12), "--data-dir", dataDir])
    expect(revoked).toMatchObject({ code: 0, stderr: "" })
    await expect.poll(async () => (await currentKey(gateway.origin, key)).status, { timeout: 10_000 }).toBe(401)

    const again = await run(["keys", "revoke", data.hash, "--data-dir", dataDir])
    expect(again.code).toBe(1)
    expect(again.stderr).toBe("There is no such key.\n")
  })

  it("rotates a key, which is then found by its hash and by its new secret", async () => {
    const dataDir = await database()
    const keys = async (...args: ReadonlyArray<string>) => {
      const result = await run(["keys", ...args, "--data-dir", dataDir])
      expect(result).toMatchObject({ code: 0, stderr: "" })
      return result.stdout
    }
    const { data, key } = created(await keys("create", "--json"))
    const rotated = await keys("rotate", data.hash.slice(0, 12))
    expect(rotated).toContain("The earlier one is accepted beside it until")
    const [second = ""] = keyForm.exec(rotated) ?? []
    const third = created(await keys("rotate", second, "--grace", "0", "--json"))
    expect(new Set([key, second, third.key]).size).toBe(3)
    expect(third.data).toMatchObject({ hash: data.hash, label: `mg_sk_…${third.key.slice(-3)}` })
    expect(await keys("show", third.key)).toContain(data.hash)
    for (const grace of ["-1", "2592001", "soon"]) {
      expect((await run(["keys", "rotate", data.hash, "--grace", grace, "--data-dir", dataDir])).code).toBe(2)
    }
  })

  it("revokes a key given by itself, and detects a mistyped one", async () => {
    const dataDir = await database()
    const { key } = created((await run(["keys", "create", "--json", "--data-dir", dataDir])).stdout)
    const typo = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`
    expect((await run(["keys", "revoke", typo, "--data-dir", dataDir])).code).toBe(2)
    expect((await run(["keys", "revoke", key, "--data-dir", dataDir])).code).toBe(0)
    expect(listed((await run(["keys", "list", "--json", "--data-dir", dataDir])).stdout).data).toEqual([])
  })

  it.each([["create"], ["list"], ["revoke", "0123abcd"]])("does not create a database for %s", async (...args) => {
    const dataDir = join(folder(), "new")
    const { code, stderr, stdout } = await run(["keys", ...args, "--data-dir", dataDir])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^There is no database in \S+\. [^\n]*--data-dir[^\n]*model-gateway serve\.\n$/)
    expect(existsSync(dataDir)).toBe(false)
  })

  it("creates keys with the free daily requests of the settings", async () => {
    const gateway = served()
    const environment = { MODEL_GATEWAY_FREE_DAILY_REQUESTS: "7" }
    const { key } = created(
      (await run(["keys", "create", "--json", "--data-dir", gateway.dataDir], environment)).stdout
    )
    for (const each of [key, await firstKey(gateway)]) {
      expect(await (await currentKey(gateway.origin, each)).json()).toMatchObject({
        data: { free_model_daily_requests: { limit: 7 } }
      })
    }
  })

  it("rejects a workspace that does not exist", async () => {
    const { code, stderr } = await run(["keys", "list", "--workspace", "elsewhere", "--data-dir", await database()])
    expect(code).toBe(1)
    expect(stderr).toBe("There is no workspace elsewhere.\n")
  })

  it.each([
    [["--limit", "-1"], /--limit/],
    [["--limit", "much"], /--limit: "much"\. Expected a number of credits from 0 to 9007199254/],
    [["--limit-reset", "daily"], /--limit-reset needs a --limit/],
    [["--limit", "1", "--limit-reset", "hourly"], /--limit-reset/],
    [["--expires-at", "tomorrow"], /ISO 8601/],
    [["--expires-at", "2020-01-01T00:00:00Z"], /has already passed/],
    [["--name", ""], /1 to 256 characters/],
    [["--management", "--free-tier"], /--free-tier and --management exclude each other/],
    [["--user", "u".repeat(257)], /--user.*at most 256 characters/],
    [["--name", "n".repeat(257)], /1 to 256 characters/],
    [["--colour", "red"], /--colour/]
  ])("rejects create %j before it opens the database", async (args, sentence) => {
    const dataDir = folder()
    const { code, stderr, stdout } = await run(["keys", "create", ...args, "--data-dir", dataDir])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toMatch(/^ +at /m)
    expect(existsSync(join(dataDir, "gateway.db"))).toBe(false)
  })
})
