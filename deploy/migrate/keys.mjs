#!/usr/bin/env node
// Issues a key for each key that LiteLLM, Portkey or OpenRouter lists, with the same name, limit, reset, end
// and user. Lists have no secrets, so programs get new keys. It needs Node 20 and no packages.
//
//   node keys.mjs --from litellm keys.json                        shows what it would create
//   node keys.mjs --from litellm keys.json --out new-keys.jsonl   creates the keys, and appends each to the file
//
// Several files are the pages of one list. `--workspace ID` is the workspace of the new keys. It reads
// MODEL_GATEWAY_BASE_URL and MODEL_GATEWAY_MANAGEMENT_KEY. Repeated with the same --out, it goes on where it
// stopped.
import { appendFileSync, openSync, readFileSync } from "node:fs"
import { parseArgs } from "node:util"

const resets = {
  daily: ["1d", "24h", "daily"],
  weekly: ["7d", "1w", "168h", "weekly"],
  monthly: ["30d", "1mo", "720h", "monthly"]
}

/** A period of another gateway as one of this one. */
const resetOf = (period, notes) => {
  if (period === null || period === undefined || period === "") return null
  const found = Object.keys(resets).find((name) => resets[name].includes(period))
  if (found === undefined) notes.push(`its budget resets every ${period}, which this gateway cannot: it never resets`)
  return found ?? null
}

/** A limit that never resets continues with what is left. Rounded down to micro-credits. */
const limitOf = (limit, reset, used) => {
  if (typeof limit !== "number") return null
  const left = reset === null ? Math.max(0, limit - used) : limit
  return Math.floor(left * 1_000_000 + 1e-6) / 1_000_000
}

const noteIf = (notes, condition, note) => {
  if (condition) notes.push(note)
}

/** How to read each list: its keys, and a key as one of this gateway. 1 credit is 1 US dollar. */
const sources = {
  // GET /key/list?return_full_object=true, or the rows of the table LiteLLM_VerificationToken as JSON.
  litellm: {
    keysOf: (list) => (Array.isArray(list) ? list : list.keys),
    read: (key, notes) => {
      const limit_reset = resetOf(key.budget_duration, notes)
      noteIf(notes, key.models?.length > 0, `it may use only ${key.models?.join(", ")}: assign a guardrail`)
      noteIf(notes, key.rpm_limit ?? key.tpm_limit ?? key.max_parallel_requests, "its rate limits are not taken over")
      noteIf(notes, key.team_id, `the budget of its team ${key.team_id} is not taken over: use a workspace`)
      return {
        id: key.token,
        name: key.key_alias ?? key.key_name ?? key.token,
        isOff: key.blocked === true,
        limit: limitOf(key.max_budget, limit_reset, key.spend ?? 0),
        limit_reset,
        expires: key.expires,
        user: key.user_id
      }
    }
  },
  // GET /v1/api-keys of the Admin API.
  portkey: {
    keysOf: (list) => (Array.isArray(list) ? list : list.data),
    read: (key, notes) => {
      const { credit_limit, periodic_reset, type = "cost" } = key.usage_limits ?? {}
      const limit_reset = resetOf(periodic_reset, notes)
      noteIf(notes, type === "tokens", `its limit of ${credit_limit} tokens is not taken over: limits are in credits`)
      noteIf(notes, key.rate_limits?.length > 0, "its rate limits are not taken over")
      noteIf(notes, key.defaults?.config_id, `its config ${key.defaults?.config_id} is not taken over: use a guardrail`)
      noteIf(notes, credit_limit !== undefined && limit_reset === null, "what it has spent is not in the list")
      return {
        id: key.id,
        name: key.name,
        isOff: key.status !== "active",
        limit: type === "tokens" ? null : limitOf(credit_limit, limit_reset, 0),
        limit_reset,
        expires: key.expires_at,
        user: key.user_id
      }
    }
  },
  // GET /api/v1/keys with a management key. Also the list of another gateway of this project.
  openrouter: {
    keysOf: (list) => (Array.isArray(list) ? list : list.data),
    read: (key, notes) => {
      const limit_reset = resetOf(key.limit_reset, notes)
      return {
        id: key.hash,
        name: key.name || key.label,
        isOff: key.disabled === true,
        limit: limitOf(key.limit, limit_reset, key.limit - (key.limit_remaining ?? key.limit)),
        limit_reset,
        include_byok_in_limit: key.include_byok_in_limit === true,
        expires: key.expires_at,
        user: key.external_user
      }
    }
  }
}

class Problem extends Error {}

/** The request for one key, or why there is none. */
const planOf = (source, key, workspace) => {
  const notes = []
  const { expires, id, isOff, name, user, ...limits } = source.read(key, notes)
  if (typeof id !== "string" || typeof name !== "string") {
    throw new Problem(`a key has no identifier or name: it has ${Object.keys(key).join(", ")}`)
  }
  const end = expires ? new Date(/Z|[+-]\d\d:?\d\d$/.test(expires) ? expires : `${expires}Z`) : undefined
  if (end !== undefined && Number.isNaN(end.getTime()))
    throw new Problem(`${name} expires at ${expires}, which is no time`)
  const skipped = isOff
    ? "it is switched off"
    : end !== undefined && end.getTime() <= Date.now()
      ? "it has expired"
      : undefined
  const request = {
    name: name.slice(0, 256),
    ...limits,
    ...(end === undefined ? {} : { expires_at: end.toISOString() }),
    ...(user ? { external: { user: String(user).slice(0, 256) } } : {}),
    ...(workspace === undefined ? {} : { workspace_id: workspace })
  }
  return { id, name, notes, request, skipped }
}

const readKeys = (source, file) => {
  let list
  try {
    list = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    throw new Problem(`${file} cannot be read: ${error.message}`)
  }
  const keys = source.keysOf(list)
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== "object" || key === null)) {
    throw new Problem(`${file} is no list of keys. LiteLLM needs return_full_object=true`)
  }
  return keys
}

const create = async (request) => {
  const baseUrl = process.env.MODEL_GATEWAY_BASE_URL
  const managementKey = process.env.MODEL_GATEWAY_MANAGEMENT_KEY
  if (!baseUrl || !managementKey) throw new Problem("set MODEL_GATEWAY_BASE_URL and MODEL_GATEWAY_MANAGEMENT_KEY")
  const response = await fetch(`${baseUrl}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify(request)
  })
  const body = await response.json()
  if (response.status !== 201) {
    throw new Problem(`the gateway refused ${request.name}: ${response.status} ${body?.error?.message ?? ""}`)
  }
  return body
}

/** The file of the new keys, and the identifiers of those that it has. */
const openOut = (path) => {
  let file
  try {
    file = openSync(path, "a", 0o600)
  } catch (error) {
    throw new Problem(`${path} cannot be written to: ${error.message}`)
  }
  const text = readFileSync(path, "utf8")
  const lines = text.split("\n")
  // A full disk or a kill cut the last line off.
  if (lines.at(-1) !== "") appendFileSync(file, "\n")
  const done = new Set()
  for (const [index, line] of lines.entries()) {
    if (line === "") continue
    try {
      done.add(JSON.parse(line).source)
    } catch {
      console.log(`Line ${index + 1} of ${path} is cut off. Its key is created again: delete the other one.`)
    }
  }
  return {
    done,
    append: (entry) => {
      appendFileSync(file, `${JSON.stringify(entry)}\n`)
      done.add(entry.source)
    }
  }
}

const describe = ({ limit, limit_reset, expires_at }) =>
  [
    limit === null ? "no limit" : `${limit} credits${limit_reset === null ? "" : ` ${limit_reset}`}`,
    ...(expires_at === undefined ? [] : [`until ${expires_at}`])
  ].join(", ")

const main = async () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { from: { type: "string" }, out: { type: "string" }, workspace: { type: "string" } }
  })
  const source = Object.hasOwn(sources, values.from ?? "") ? sources[values.from] : undefined
  if (source === undefined || positionals.length === 0) {
    throw new Problem("usage: keys.mjs --from litellm|portkey|openrouter FILE… [--workspace ID] [--out FILE]")
  }
  // All files are read and checked before the first key is created.
  const plans = positionals
    .flatMap((file) => readKeys(source, file))
    .map((key) => planOf(source, key, values.workspace))
  // Opened before the first key is created: the gateway shows a key only once.
  const out = values.out === undefined ? undefined : openOut(values.out)
  for (const { id, name, notes, request, skipped } of plans) {
    if (skipped !== undefined) console.log(`${name}: skipped, because ${skipped}`)
    else if (out?.done.has(id)) console.log(`${name}: created before`)
    else {
      if (out !== undefined) {
        const { data, key } = await create(request)
        out.append({ source: id, name, hash: data.hash, key })
      }
      console.log(`${name}: ${out === undefined ? "would be created" : "created"}, ${describe(request)}`)
    }
    if (skipped === undefined) for (const note of notes) console.log(`  ${note}`)
  }
  if (out === undefined) console.log("Nothing was created. --out FILE creates the keys and writes them there.")
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Problem || error.code?.startsWith("ERR_PARSE_ARGS") ? error.message : error)
  process.exitCode = 1
}
