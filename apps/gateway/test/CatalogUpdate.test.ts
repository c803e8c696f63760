// `model-gateway models update`: a catalog that is wrong in any way changes nothing.
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { type Double, type Scripted, startDouble } from "@model-gateway/test-doubles/Double"
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it, onTestFinished } from "vitest"
import { run } from "./Commands.ts"
import * as Executable from "./Executable.ts"

const builtIn = fileURLToPath(new URL("../../../packages/providers/src/catalog.json", import.meta.url))

const source = { page: "https://acme.example/pricing", read_on: "2026-12-01" }

const model = {
  adapter: "cohere",
  kind: "rerank",
  id: "cohere/rerank-v3.5",
  name: "Rerank 3.5",
  price: { search_unit: 0.001 },
  source
}

const added = {
  ...model,
  id: "acme/rerank",
  upstream_id: "rerank-v3.5",
  name: "Rerank of Acme",
  price: { search_unit: 0.005 }
}

const good = { version: 1, updated: "2027-01-01", models: [model, added] }

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

interface Served {
  readonly text: string
  readonly signature?: string
  readonly answer?: Scripted
}

/** A web server that has a catalog, and its signature. */
const serveCatalog = async ({ answer, signature, text }: Served): Promise<Double> => {
  const double = await startDouble({
    answerTo: ({ url }) => {
      if (url === "/catalog.json.sig" && signature !== undefined) return { body: signature }
      return url === "/catalog.json" ? (answer ?? { body: text }) : { status: 404 }
    }
  })
  onTestFinished(() => double.close())
  return double
}

const { privateKey, publicKey } = generateKeyPairSync("ed25519")

const signatureOf = (text: string): string => `${sign(null, Buffer.from(text), privateKey).toString("base64")}\n`

const keyFile = (key = publicKey): string => {
  const file = join(Executable.folder(), "catalog.pem")
  writeFileSync(file, key.export({ type: "spki", format: "pem" }))
  return file
}

const fileOf = (text: string, folder = Executable.folder()): string => {
  const file = join(folder, "new.json")
  writeFileSync(file, text)
  return file
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

const withModel = (changes: object) => json({ ...good, models: [{ ...model, ...changes }] })

describe("models update", () => {
  it("writes the catalog of a file to the data folder, says what changed, and keeps the former one", async () => {
    const dataDir = Executable.folder()
    const first = await run(["models", "update", "--data-dir", dataDir, "--from", fileOf(json(good))])
    expect(first).toMatchObject({ code: 0, stderr: "" })
    expect(first.stdout).toContain(`Catalog of models: ${join(dataDir, "catalog.json")}, of 2027-01-01, with 2 models.`)
    expect(first.stdout).toContain("added    acme/rerank: 0.005 per search unit")
    expect(first.stdout).toContain("price    cohere/rerank-v3.5: 0.002 per search unit → 0.001 per search unit")
    expect(first.stdout).toContain("removed  voyage/rerank-2.5")
    const next = json({ ...good, updated: "2027-01-02", models: [model] })
    const second = await run(["models", "update", "--data-dir", dataDir, "--from", fileOf(next)])
    expect(second.stdout.split("\n")).toContain("  removed  acme/rerank")
    expect(readFileSync(join(dataDir, "catalog.json"), "utf8")).toBe(next)
    expect(readFileSync(join(dataDir, "catalog.json.former"), "utf8")).toBe(json(good))
    expect(readdirSync(dataDir).toSorted()).toEqual(["catalog.json", "catalog.json.former"])
    const back = ["models", "update", "--data-dir", dataDir, "--from", join(dataDir, "catalog.json.former")]
    expect((await run([...back, "--allow-older"])).code).toBe(0)
    expect(readFileSync(join(dataDir, "catalog.json"), "utf8")).toBe(json(good))
  })

  it("accepts the built-in catalog", async () => {
    const { code, stdout } = await run(["models", "update", "--data-dir", Executable.folder(), "--from", builtIn])
    expect(code).toBe(0)
    expect(stdout).toContain("Its models and prices are as before.")
  })

  it("accepts a URL by its checksum, and by its signature", async () => {
    const text = json(good)
    const { url } = await serveCatalog({ text, signature: signatureOf(text) })
    for (const check of [
      ["--sha256", sha256(text).toUpperCase()],
      ["--public-key", keyFile()]
    ]) {
      const dataDir = Executable.folder()
      const { code, stderr } = await run([
        "models",
        "update",
        "--data-dir",
        dataDir,
        "--from",
        `${url}/catalog.json`,
        ...check
      ])
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(readFileSync(join(dataDir, "catalog.json"), "utf8")).toBe(text)
    }
  })

  it("writes to the file that the setting names", async () => {
    const named = join(Executable.folder(), "models.json")
    const { code } = await run(["models", "update", "--from", fileOf(json(good))], { MODEL_GATEWAY_CATALOG: named })
    expect(code).toBe(0)
    expect(readFileSync(named, "utf8")).toBe(json(good))
    const refused = await run(["models", "update", "--catalog", "built-in", "--from", named])
    expect(refused).toMatchObject({
      code: 1,
      stderr: 'The catalog was not updated: the setting "catalog" says built-in, so that there is no file to write.\n'
    })
  })

  it("keeps the former catalog if the same one is brought again", async () => {
    const dataDir = Executable.folder()
    const update = (changes: object) =>
      run(["models", "update", "--data-dir", dataDir, "--from", fileOf(json({ ...good, ...changes }))])
    await update({})
    await update({ updated: "2027-01-02" })
    expect((await update({ updated: "2027-01-02" })).code).toBe(0)
    expect(readFileSync(join(dataDir, "catalog.json.former"), "utf8")).toBe(json(good))
  })

  it("replaces the file behind a link, and not one that is out of reach", async () => {
    const [shared, dataDir] = [join(Executable.folder(), "shared.json"), Executable.folder()]
    const link = join(dataDir, "catalog.json")
    symlinkSync(shared, link)
    const update = () => run(["models", "update", "--data-dir", dataDir, "--from", fileOf(json(good))])
    expect(await update()).toMatchObject({
      code: 1,
      stderr: `The catalog was not updated: ${link} cannot be written.\n`
    })
    expect(await run(["models", "--data-dir", dataDir])).toMatchObject({
      code: 1,
      stderr: `The catalog ${link} cannot be read.\n`
    })
    writeFileSync(shared, json({ ...good, updated: "2026-12-31" }))
    expect((await update()).code).toBe(0)
    expect(readFileSync(shared, "utf8")).toBe(json(good))
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
  })

  it("says in a sentence that the data folder cannot be reached", async () => {
    const folder = Executable.folder()
    symlinkSync("loop", join(folder, "loop"))
    expect(await run(["models", "--data-dir", join(folder, "loop")])).toMatchObject({
      code: 1,
      stderr: `The catalog ${join(folder, "loop", "catalog.json")} cannot be read.\n`
    })
  })

  /** The sentence that an update over a good catalog is refused with. It changes nothing. */
  const refusal = async (...args: ReadonlyArray<string>): Promise<string> => {
    const dataDir = Executable.folder()
    const present = json({ ...good, updated: "2026-12-31" })
    writeFileSync(join(dataDir, "catalog.json"), present)
    const { code, stderr, stdout } = await run(["models", "update", "--data-dir", dataDir, ...args])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr.split("\n")).toEqual([expect.stringMatching(/^The catalog was not updated: .*\.$/), ""])
    expect(readFileSync(join(dataDir, "catalog.json"), "utf8")).toBe(present)
    expect(readdirSync(dataDir)).toEqual(["catalog.json"])
    return stderr
  }

  it.each([
    ["is broken", "{ models: }", "is not valid JSON: check line 1."],
    ["is cut off", json(good).slice(0, 300), "is not valid JSON: check line "],
    ["is empty", "", "is not valid JSON: check line 1."],
    ["is nested a million times", "[".repeat(1_000_000), "is nested deeper than 64 levels."],
    [
      "has a field twice",
      json(good).replace('"updated"', '"version": 1,\n"updated"'),
      'sets "version" twice: see line 3.'
    ],
    [
      "has a field that would control the terminal",
      json({ ...good, "\u001b[2J\nThe catalog was updated": 1 }),
      '"\\u{1b}[2J\\u{a}The catalog was updated" is not a field.'
    ],
    [
      "has a field with a very long name",
      json({ ...good, ["x".repeat(1_000_000)]: 1 }),
      `"${"x".repeat(100)}…" is not a field.`
    ],
    ["is a list", "[]", "is not valid: it is not a catalog of models."],
    ["is larger than 8 MiB", json({ ...good, note: "x".repeat(8 * 1024 * 1024) }), "is larger than 8 MiB."],
    [
      "has a later format",
      json({ ...good, version: 2, flavors: [] }),
      "has the format version 2, and this gateway reads version 1: update the gateway."
    ],
    ["has no version", json({ ...good, version: undefined }), 'is not valid: it has no "version".'],
    [
      "is older",
      json({ ...good, updated: "2026-12-30" }),
      "is of 2026-12-30, older than the present one of 2026-12-31: --allow-older accepts it."
    ],
    [
      "has a day that does not exist",
      json({ ...good, updated: "2027-02-30" }),
      '"updated" is "2027-02-30", which is not a day'
    ],
    [
      "has an unknown field",
      withModel({ prize: {} }),
      '"models[0].prize" of cohere/rerank-v3.5 is not a field. Did you mean "price"?'
    ],
    ["lacks a price", withModel({ price: undefined }), '"models[0]" of cohere/rerank-v3.5 has no "price".'],
    [
      "has a price above the bound",
      withModel({ price: { search_unit: 1_000_001 } }),
      '"models[0].price.search_unit" of cohere/rerank-v3.5 is 1000001, which is not a number of credits from 0 to 1000000.'
    ],
    [
      "has a price below 0",
      withModel({ price: { search_unit: -1 } }),
      "is -1, which is not a number of credits from 0"
    ],
    [
      "has a price of another kind",
      withModel({ price: { video: 1 } }),
      'has a "price" that is not one of a rerank model'
    ],
    [
      "has an adapter that is not known",
      withModel({ adapter: "coherent", upstream_id: "x" }),
      '"models[0].adapter" of cohere/rerank-v3.5 is "coherent", which is not an adapter of this gateway. Did you mean "cohere"?'
    ],
    [
      "has a data policy of an adapter that is not known",
      json({ ...good, data_policies: { acme: { training: false, source } } }),
      '"data_policies.acme" is not an adapter of this gateway.'
    ],
    [
      "has a model twice",
      json({ ...good, models: [model, model] }),
      '"models[1]" of cohere/rerank-v3.5 has the id cohere/rerank-v3.5, which an earlier model has.'
    ],
    [
      "has a model that its adapter cannot offer",
      withModel({ adapter: "fal", kind: "video", id: "fal/acme", price: { second: 1 } }),
      '"models[0]" of fal/acme cannot be offered: must have an upstream id such as fal-ai/veo3.1.'
    ],
    [
      "has an id of no upstream",
      withModel({ id: "acme/rerank" }),
      'has no "upstream_id", and its "id" does not begin with cohere/.'
    ]
  ])("changes nothing if the file %s", async (_, text, sentence) => {
    expect(await refusal("--from", fileOf(text))).toContain(sentence)
  })

  it("changes nothing if the file is not there, or its checksum or signature is wrong", async () => {
    expect(await refusal("--from", join(Executable.folder(), "none.json"))).toContain("none.json cannot be read.")
    expect(await refusal("--from", Executable.folder())).toContain("is not a file.")
    const file = fileOf(json(good))
    expect(await refusal("--from", file, "--sha256", sha256(""))).toContain(
      `its SHA-256 checksum is ${sha256(json(good))}, not that of --sha256.`
    )
    expect(await refusal("--from", file, "--sha256", "abc")).toContain(
      "--sha256 is not a checksum of 64 hexadecimal digits."
    )
    expect(await refusal("--from", file, "--public-key", keyFile())).toContain("new.json.sig cannot be read.")
    writeFileSync(`${file}.sig`, signatureOf(json(model)))
    expect(await refusal("--from", file, "--public-key", keyFile())).toContain(
      "new.json.sig is not a signature of it by the key in"
    )
    writeFileSync(`${file}.sig`, signatureOf(json(good)))
    const other = keyFile(generateKeyPairSync("ed25519").publicKey)
    expect(await refusal("--from", file, "--public-key", other)).toContain(
      "new.json.sig is not a signature of it by the key in"
    )
    const rsa = keyFile(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey)
    expect(await refusal("--from", file, "--public-key", rsa)).toContain("is not an Ed25519 key.")
    expect(await refusal("--from", file, "--public-key", file)).toContain("has no public key in PEM.")
    expect(await refusal("--from", file, "--public-key", `${file}.pem`)).toContain("new.json.pem cannot be read.")
  })

  it("changes nothing if the settings need a model that is gone", async () => {
    const file = join(Executable.folder(), "gateway.json")
    writeFileSync(file, json({ models: { "a/b": { offers: [{ upstream: "voyage", model: "rerank-2.5" }] } } }))
    expect(await refusal("--config", file, "--from", fileOf(json(good)))).toContain(
      'the gateway could not start with it: "models.a/b.offers[0]" on line 5 of '
    )
  })

  it("changes nothing if the settings need a parameter of a model that is gone", async () => {
    const file = join(Executable.folder(), "gateway.json")
    const offers = [{ upstream: "openai", model: "whisper-1", price: { input_tokens: 2 } }]
    writeFileSync(file, json({ models: { "a/b": { offers } } }))
    const text = withModel({ adapter: "openai", kind: "transcription", id: "openai/whisper-1", price: { second: 0.1 } })
    expect(await refusal("--config", file, "--from", fileOf(text))).toContain(
      `of ${file} cannot be offered: needs parameters.tokensPerSecond for its price per token.`
    )
  })

  it.each<[string, Served, ReadonlyArray<string>, string]>([
    ["is not checked", { text: json(good) }, [], "a URL needs --sha256 or --public-key, so that nobody on the way"],
    ["has another checksum", { text: json(good) }, ["--sha256", sha256("x")], "its SHA-256 checksum is "],
    ["has no signature", { text: json(good) }, ["--public-key", "key"], "catalog.json.sig answered with status 404."],
    [
      "has the signature of another text",
      { text: json(good), signature: signatureOf("x") },
      ["--public-key", "key"],
      "catalog.json.sig is not a signature of it by the key in "
    ],
    [
      "has a signature that is too large",
      { text: json(good), signature: "A".repeat(2000) },
      ["--public-key", "key"],
      "catalog.json.sig is larger than 1 KiB."
    ],
    [
      "redirects to another server",
      { text: "", answer: { status: 302, headers: { location: "http://localhost:1/catalog.json" } } },
      ["--sha256", sha256("")],
      "/catalog.json redirects to another server: give the URL that it leads to."
    ],
    ["is not there", { text: "", answer: { status: 404 } }, ["--sha256", sha256("")], "answered with status 404."],
    [
      "is cut off",
      { text: "", answer: { body: json(good), fault: "cutBody" } },
      ["--sha256", sha256("")],
      "ended early."
    ],
    ["never ends", { text: "", answer: { fault: "endless" } }, ["--sha256", sha256("")], "is larger than 8 MiB."],
    [
      "is slow",
      { text: "", answer: { body: json(good), fault: "hangBody" } },
      ["--sha256", sha256(""), "--time-limit", "300 millis"],
      "did not answer within 300 millis."
    ],
    [
      "does not answer",
      { text: "", answer: { fault: "hang" } },
      ["--sha256", sha256(""), "--time-limit", "300 millis"],
      "did not answer within 300 millis."
    ],
    [
      "is signed, but broken",
      { text: "{", signature: signatureOf("{") },
      ["--public-key", "key"],
      "is not valid JSON: check line 1."
    ]
  ])("changes nothing if the URL %s", async (_, served, args, sentence) => {
    const { url } = await serveCatalog(served)
    const checks = args.map((arg) => (arg === "key" ? keyFile() : arg))
    expect(await refusal("--from", `${url}/catalog.json`, ...checks)).toContain(sentence)
  })

  it.each([
    ["https://me:secret@models.example/catalog.json", "is a URL with a user name or a password, which is not sent."],
    ["ftp://me:secret@models.example/catalog.json", "is neither a file nor an http:// or https:// URL."],
    ["https://me:secret@models.example:99999/catalog.json", "is neither a file nor an http:// or https:// URL."]
  ])("shows no password of the source %s", async (from, sentence) => {
    const stderr = await refusal("--from", from, "--sha256", sha256(""))
    expect(stderr).toContain(`--from ${sentence}`)
    expect(stderr).not.toContain("secret")
  })

  it("changes nothing if the server is down", async () => {
    const check = ["--sha256", sha256("")]
    expect(await refusal("--from", "http://127.0.0.1:9/catalog.json", ...check)).toContain(
      "http://127.0.0.1:9/catalog.json cannot be reached."
    )
  })
})

describe("the built executable", () => {
  const update = (dataDir: string, args: ReadonlyArray<string>) =>
    Executable.run(["models", "update", "--data-dir", dataDir, ...args])

  it("serves a model that an update brought, at its price, and says which catalog it uses", async () => {
    const apiKey = "co-secret-0123456789"
    const cohere = await startCohereDouble({ keys: [apiKey] })
    onTestFinished(() => cohere.close())
    const text = json({ ...good, models: [...good.models, { ...added, id: "acme/old", expires_on: "2027-06-30" }] })
    const { url } = await serveCatalog({ text, signature: signatureOf(text) })
    const dataDir = Executable.folder()
    const updated = await update(dataDir, ["--from", `${url}/catalog.json`, "--public-key", keyFile()])
    expect(updated).toMatchObject({ code: 0, stderr: "" })

    const gateway = await Executable.serve(dataDir, [], { COHERE_API_KEY: apiKey, COHERE_BASE_URL: cohere.url })
    await gateway.prints(/Catalog of models: .*catalog\.json, of 2027-01-01, with 3 models\.\n/)
    const headers = {
      authorization: `Bearer ${await Executable.firstKey(gateway)}`,
      "content-type": "application/json",
      connection: "close"
    }
    const answer = await fetch(`${gateway.origin}/api/v1/rerank`, {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "acme/rerank", query: "tea", documents: ["a", "tea"] })
    })
    expect(await answer.json()).toMatchObject({
      model: "acme/rerank",
      provider: "cohere",
      results: [{ index: 1 }, { index: 0 }],
      usage: { cost: 0.005 }
    })
    expect(cohere.state.requests[0]?.text).toContain('"model":"rerank-v3.5"')
  })

  it("changes nothing after a truncated, a broken and a wrongly signed catalog, and serves as before", async () => {
    const dataDir = Executable.folder()
    expect((await update(dataDir, ["--from", fileOf(json(good))])).code).toBe(0)
    const present = readFileSync(join(dataDir, "catalog.json"), "utf8")
    const cut = await serveCatalog({ text: "", answer: { body: json(good), fault: "cutBody" } })
    const wrong = await serveCatalog({ text: json(good), signature: signatureOf("another") })
    for (const args of [
      ["--from", fileOf(json(good).slice(0, 200))],
      ["--from", fileOf("{ models")],
      ["--from", `${cut.url}/catalog.json`, "--sha256", sha256(json(good))],
      ["--from", `${wrong.url}/catalog.json`, "--public-key", keyFile()]
    ]) {
      const { code, stderr, stdout } = await update(dataDir, args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^The catalog was not updated: .*\.\n$/)
      expect(readFileSync(join(dataDir, "catalog.json"), "utf8")).toBe(present)
      expect(existsSync(join(dataDir, "catalog.json.former"))).toBe(false)
    }
    const { code, stdout } = await Executable.run(["settings", "check", "--data-dir", dataDir])
    expect(code).toBe(0)
    expect(stdout).toContain("catalog.json, of 2027-01-01, with 2 models.")
  })

  it("does not serve with a catalog that is not valid, or is not there", async () => {
    const file = fileOf(withModel({ price: {} }))
    const invalid = await Executable.run(["serve", "--port", "0", "--data-dir", Executable.folder(), "--catalog", file])
    expect(invalid).toEqual({
      code: 1,
      stdout: "",
      stderr: `The catalog ${file} is not valid: "models[0]" of cohere/rerank-v3.5 has a "price" that is not one of a rerank model: give "search_unit", or "input_tokens" and "output_tokens".\n`
    })
    const missing = await Executable.run(["settings", "check", "--catalog", `${file}.none`])
    expect(missing).toEqual({ code: 1, stdout: "", stderr: `The catalog ${file}.none cannot be read.\n` })
  })
})

describe("models", () => {
  const list = async (args: ReadonlyArray<string>, environment: Record<string, string>) => {
    const options = ["--data-dir", Executable.folder(), ...args]
    const { stdout } = await run(["models", ...options], environment)
    const listed: unknown = JSON.parse((await run(["models", "--json", ...options], environment)).stdout)
    return { stdout, listed }
  }

  const marked = {
    ...good,
    models: [
      { ...model, source: { ...source, read_from: "a public program" } },
      {
        ...model,
        adapter: "openai",
        kind: "transcription",
        id: "openai/whisper-1",
        price: { second: 0.0001 },
        expires_on: "2027-02-26"
      }
    ]
  }
  const keys = { COHERE_API_KEY: "co-key", OPENAI_API_KEY: "sk-key" }

  it("say which prices are unconfirmed, and when a model ends", async () => {
    const { listed, stdout } = await list(["--catalog", fileOf(json(marked))], keys)
    expect(stdout).toContain("0.001 per search unit (unconfirmed)")
    expect(stdout).toContain("An unconfirmed price was read elsewhere than at the vendor")
    expect(stdout).toMatch(/openai\/whisper-1 .* 2027-02-26$/m)
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: "cohere/rerank-v3.5",
          offers: [expect.objectContaining({ price_is_unconfirmed: true, expiration_date: null })]
        }),
        expect.objectContaining({
          id: "openai/whisper-1",
          offers: [expect.objectContaining({ price_is_unconfirmed: false, expiration_date: "2027-02-26" })]
        })
      ])
    )
  })

  it("neither end nor need a confirmation where the operator runs them, or states the price", async () => {
    const file = join(Executable.folder(), "gateway.json")
    const offers = [{ upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } }]
    writeFileSync(file, json({ models: { "cohere/rerank-v3.5": { offers } } }))
    const { stdout } = await list(["--catalog", fileOf(json(marked)), "--config", file], {
      ...keys,
      OPENAI_BASE_URL: "http://whisper.internal/v1"
    })
    expect(stdout).toContain("openai/whisper-1")
    expect(stdout).not.toContain("unconfirmed")
    expect(stdout).not.toContain("2027-02-26")
  })
})
