/** Mistakes in calls that manage keys and money. */
import { type Answer, ask, jsonOf } from "../client.ts"
import { type Attack, problemsOf, statusesOf, textOf } from "./attack.ts"

/** A path, a body with a mistyped field, the field, and the field that was meant. */
type Mistake = readonly [path: string, body: object, field: string, meant: string]

const mistakes: ReadonlyArray<Mistake> = [
  ["/guardrails", { name: "hostile", limit: 5 }, "limit", "limit_usd"],
  ["/guardrails", { name: "hostile", allowed_model: ["cohere/*"] }, "allowed_model", "allowed_models"],
  ["/keys", { name: "hostile", expires: "2030-01-01T00:00:00Z" }, "expires", "expires_at"],
  ["/byok", { provider: "cohere", key: "co-0123456789", require: true }, "require", "is_required"],
  ["/workspaces", { name: "hostile", slug: "hostile", descripton: "x" }, "descripton", "description"],
  [
    "/observability/destinations",
    { name: "hostile", type: "webhook", config: { url: "https://example.com", secret: "x" } },
    "config.secret",
    "signing_secret"
  ]
]

const lists = ["/keys", "/guardrails", "/byok", "/workspaces", "/observability/destinations", "/generations"]

const named = ({ body }: Answer, field: string, meant: string): boolean => {
  const text = body.toString()
  return text.includes(`"path":"${field}"`) && text.includes(`\\"${meant}\\"`)
}

const unknownFields: Attack = {
  name: "unknown-fields",
  title:
    "mistyped fields of keys, guardrails, provider keys, workspaces and destinations, and mistyped filters of lists",
  bound: "400 that names the field and the nearest known one; nothing is created",
  run: async ({ gateway, newKey }) => {
    const key = gateway.managementKey
    const call = (method: string, path: string, body?: object) =>
      ask(gateway.origin, { method, path: `/api/v1${path}`, key, body })
    const { hash } = await newKey()
    const before = (await call("GET", "/guardrails")).body.toString()
    const changes: Array<readonly [Answer, string, string]> = []
    for (const [path, body, field, meant] of mistakes) changes.push([await call("POST", path, body), field, meant])
    changes.push([await call("PATCH", `/keys/${hash}`, { limits: 1 }), "limits", "limit"])
    changes.push([
      await call("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1, amont: 2 }),
      "amont",
      "amount"
    ])
    changes.push([
      await ask(gateway.origin, {
        method: "POST",
        path: "/api/v1/keys/ephemeral",
        key: gateway.apiKey,
        body: { own_file: true }
      }),
      "own_file",
      "own_files"
    ])
    const filtered: Array<Answer> = []
    for (const path of lists) filtered.push(await call("GET", `${path}?workspace=x`))
    const answers = changes.map(([answer]) => answer)
    return {
      figure: `changes: ${statusesOf(answers)}; lists: ${statusesOf(filtered)}`,
      problems: [
        ...problemsOf([...answers, ...filtered], [400]),
        ...changes.flatMap(([answer, field, meant]) =>
          named(answer, field, meant) ? [] : [`${field} is not named with ${meant}`]
        ),
        ...((await call("GET", "/guardrails")).body.toString() === before ? [] : ["a guardrail was created"]),
        ...(textOf(jsonOf(await call("GET", `/keys/${hash}`)), "data", "hash") === hash ? [] : ["the key is gone"])
      ]
    }
  }
}

export const management: ReadonlyArray<Attack> = [unknownFields]
