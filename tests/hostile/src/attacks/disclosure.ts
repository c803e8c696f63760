/** What answers tell a caller about others, or leave behind in caches. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Answer, ask, jsonOf } from "../client.ts"
import { type Attack, problemsOf, smallRerank, statusesOf, type Target, textOf } from "./attack.ts"

const ephemeralKey = async ({ gateway }: Target, body: object): Promise<string> =>
  textOf(
    jsonOf(await ask(gateway.origin, { method: "POST", path: "/api/v1/keys/ephemeral", key: gateway.apiKey, body })),
    "key"
  )

const organization = "0d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"
const foreignRequest = "019ab0c0-0000-7000-8000-0123456789ab"

/** Another organization with one request, in the gateway's database. */
const addForeignRequest = ({ gateway }: Target): void => {
  const database = new DatabaseSync(join(gateway.dataDir, "gateway.db"))
  try {
    database.exec(`PRAGMA busy_timeout = 5000;
      INSERT INTO organizations (id, name, created_at) VALUES ('${organization}', 'other', 0);
      INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
        VALUES ('other-workspace', '${organization}', 'other', 1, 'native', 0, 0, 0, 0);
      INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late,
          reserved_micro, cost_micro, reserved_at, settled_at)
        VALUES ('${foreignRequest}', 'k', 'other-workspace', 'rerank', 'm', 'p', 'm', 0, 0, 0, 0, 1, 1)`)
  } finally {
    database.close()
  }
}

const withoutId = (answer: Answer): string =>
  JSON.stringify([answer.status, answer.body.toString().replace(/"request_id":"[^"]*"/, "")])

const cursors: Attack = {
  name: "cursors",
  title: "`after` of every list with the id of another organization's request, and with an id that nobody has",
  bound: "the same answer to both",
  run: async (target) => {
    addForeignRequest(target)
    const { gateway } = target
    const page = (path: string, after: string) =>
      ask(gateway.origin, { method: "GET", path: `/api/v1${path}${after}`, key: gateway.managementKey })
    const problems: Array<string> = []
    const figures: Array<string> = []
    for (const path of ["/generations?after=", "/webhooks/deliveries?after=", "/generation?id="]) {
      const foreign = await page(path, foreignRequest)
      const missing = await page(path, foreignRequest.replace("ab", "ac"))
      figures.push(`${path} ${statusesOf([foreign, missing])}`)
      if (withoutId(foreign) !== withoutId(missing)) problems.push(`${path} tells which id exists`)
    }
    return { figure: figures.join("; "), problems }
  }
}

const foreignRequests: Attack = {
  name: "foreign-requests",
  title: "an ephemeral key with `own_files` reads requests of its parent and of another key by their ids",
  bound: "404, and 200 for its own",
  run: async (target) => {
    const { gateway, newKey } = target
    const key = await ephemeralKey(target, { own_files: true })
    const paid = async (payer: string): Promise<string> =>
      textOf(jsonOf(await ask(gateway.origin, smallRerank(payer))), "id")
    const read = (id: string) => ask(gateway.origin, { method: "GET", path: `/api/v1/generation?id=${id}`, key })
    const own = await read(await paid(key))
    const others = [
      await read(await paid(gateway.apiKey)),
      await read(await paid((await newKey()).key)),
      await read(await paid(await ephemeralKey(target, {})))
    ]
    return {
      figure: `its own: ${statusesOf([own])}; others: ${statusesOf(others)}`,
      problems: [...problemsOf([own], [200]), ...problemsOf(others, [404])]
    }
  }
}

const storedAnswers: Attack = {
  name: "stored-answers",
  title: "answers to a key, of which some have secrets, and errors",
  bound: "`Cache-Control: no-store` on all of them",
  quick: true,
  run: async ({ gateway }) => {
    const { apiKey, managementKey } = gateway
    const answers: Array<readonly [string, Answer]> = []
    for (const [method, path, key, body] of [
      ["GET", "/key", apiKey, undefined],
      ["GET", "/models", apiKey, undefined],
      ["GET", "/files/none/content", apiKey, undefined],
      ["GET", "/keys", apiKey, undefined],
      ["GET", "/keys", managementKey, undefined],
      ["POST", "/keys", managementKey, { name: "stored" }],
      ["POST", "/keys", managementKey, {}],
      ["POST", "/keys/ephemeral", apiKey, {}],
      ["POST", "/rerank", apiKey, smallRerank(apiKey).body],
      ["GET", "/key", "mg_sk_none", undefined]
    ] as const) {
      answers.push([`${method} ${path}`, await ask(gateway.origin, { method, path: `/api/v1${path}`, key, body })])
    }
    const stored = answers.filter(([, { headers }]) => headers["cache-control"] !== "no-store")
    return {
      figure: `${stored.length} of ${answers.length} answers may be stored`,
      problems: stored.map(([name, { status }]) => `${name} (${status}) may be stored`)
    }
  }
}

export const disclosure: ReadonlyArray<Attack> = [cursors, foreignRequests, storedAnswers]
