import { Duration, Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Catalog from "../src/Catalog.ts"
import { run } from "./Commands.ts"
import { fileOf, offered } from "./Loaded.ts"

const secret = "co-secret-0123456789"

const environment = { COHERE_API_KEY: secret, BERLIN_KEY: "co-berlin-0123456789" }

const deadlines = {
  rerankAttempt: Duration.seconds(20),
  rerank: Duration.minutes(1),
  transcriptionAttempt: Duration.minutes(2),
  transcription: Duration.minutes(5)
}

/** The models that a settings file gives, without the sandbox's. Of Cohere's, one stands for all. */
const listed = async (text: string, variables: Record<string, string> = environment) => {
  const file = fileOf(text)
  const everything = await Effect.runPromise(offered(file, variables))
  return Catalog.list(everything, deadlines)
    .filter(({ id }) => !/^(?:sandbox\/|cohere\/rerank-v[45])/.test(id))
    .map(({ offers, ...model }) => ({
      ...model,
      offers: offers.map((offer) => ({ ...offer, credential: offer.credential.replace(file, "FILE") }))
    }))
}

const refusal = async (text: string, variables: Record<string, string> = environment) => {
  const file = fileOf(text)
  const { message } = await Effect.runPromise(Effect.flip(offered(file, variables)))
  return message.replace(file, "FILE")
}

const berlin = `"berlin": { "adapter": "cohere", "baseUrl": "https://rerank.internal", "apiKey": { "env": "BERLIN_KEY" } }`

describe("the summary of upstreams", () => {
  it("names the address that a key of Voyage is for", async () => {
    const addressOf = async (variables: Record<string, string>) =>
      /^ +voyage .* at (\S+)$/m.exec(Catalog.summary(await Effect.runPromise(offered(undefined, variables))))?.[1]
    expect(await addressOf({ VOYAGE_API_KEY: "pa-1" })).toBe("https://api.voyageai.com/v1")
    expect(await addressOf({ VOYAGE_API_KEY: "al-1" })).toBe("https://ai.mongodb.com/v1")
    expect(await addressOf({ VOYAGE_API_KEY: "al-1", VOYAGE_BASE_URL: "https://proxy.internal" })).toBe(
      "https://proxy.internal"
    )
  })
})

describe("the models of a settings file", () => {
  it("cost nothing at a server of Text Embeddings Inference, unless the file sets a price", async () => {
    const models = await listed(
      `{
        "upstreams": { "gpu": { "adapter": "tei", "baseUrl": "http://127.0.0.1:8080" } },
        "models": {
          "acme/rerank": { "offers": [{ "upstream": "gpu", "model": "bge" }] },
          "acme/paid": { "offers": [{ "upstream": "gpu", "model": "bge", "price": { "input_tokens": 0.01 } }] },
          "gpu/*": { "offers": [{ "upstream": "gpu", "model": "any" }] }
        }
      }`,
      {}
    )
    expect(models.map(({ id, kind, offers }) => [id, kind, offers.map(({ price }) => price)])).toEqual([
      ["acme/rerank", "rerank", [{ input_tokens: 0, output_tokens: 0 }]],
      ["acme/paid", "rerank", [{ input_tokens: 0.01, output_tokens: 0 }]],
      ["gpu/*", "rerank", [{ input_tokens: 0, output_tokens: 0 }]]
    ])
  })

  it("have the offers of the file in its order, with their prices, time limits and the source of the key", async () => {
    const models = await listed(`{
      "upstreams": {
        "cohere": { "timeLimit": "12 seconds" },
        "berlin": {
          "adapter": "cohere", "baseUrl": "https://rerank.internal", "timeLimit": "3 seconds",
          "apiKey": "co-in-the-file"
        },
        "open": { "adapter": "cohere", "baseUrl": "http://127.0.0.1:9000" }
      },
      "models": {
        "acme/rerank": {
          "name": "Acme rerank", "kind": "rerank",
          "offers": [
            { "upstream": "berlin", "model": "own-model", "price": { "search_unit": 0.0015 }, "timeLimit": "1 minute" },
            { "upstream": "cohere", "model": "rerank-v3.5" },
            { "upstream": "open", "model": "rerank-v3.5", "price": { "search_unit": 0 } }
          ]
        }
      }
    }`)
    expect(models).toEqual([
      {
        id: "acme/rerank",
        kind: "rerank",
        name: "Acme rerank",
        offers: [
          {
            upstream: "berlin",
            model: "own-model",
            price: { search_unit: 0.0015 },
            price_is_unconfirmed: false,
            time_limit: "1 minute",
            credential: '"upstreams.berlin.apiKey" on line 6 of FILE',
            expiration_date: null
          },
          {
            upstream: "cohere",
            model: "rerank-v3.5",
            price: { search_unit: 0.002 },
            price_is_unconfirmed: true,
            time_limit: "12 seconds",
            credential: "COHERE_API_KEY in the environment",
            expiration_date: null
          },
          {
            upstream: "open",
            model: "rerank-v3.5",
            price: { search_unit: 0 },
            price_is_unconfirmed: false,
            time_limit: "20 seconds",
            credential: "none",
            expiration_date: null
          }
        ]
      },
      {
        id: "cohere/rerank-v3.5",
        kind: "rerank",
        name: "Cohere Rerank 3.5",
        offers: [
          {
            upstream: "cohere",
            model: "rerank-v3.5",
            price: { search_unit: 0.002 },
            price_is_unconfirmed: true,
            time_limit: "12 seconds",
            credential: "COHERE_API_KEY in the environment",
            expiration_date: null
          }
        ]
      }
    ])
  })

  it("take name, kind and price from the catalog if the file states none", async () => {
    const [model] = await listed(
      `{ "models": { "acme/rerank": { "offers": [{ "upstream": "cohere", "model": "rerank-v3.5" }] } } }`
    )
    expect(model).toMatchObject({
      name: "Cohere Rerank 3.5",
      kind: "rerank",
      offers: [{ price: { search_unit: 0.002 }, time_limit: "20 seconds" }]
    })
  })

  it("replace the offers of a built-in model with the same id", async () => {
    const models = await listed(`{
      "upstreams": { ${berlin} },
      "models": { "cohere/rerank-v3.5": { "offers": [{ "upstream": "berlin", "model": "rerank-v3.5" }] } }
    }`)
    expect(models.map(({ id, offers }) => [id, offers.map(({ upstream }) => upstream)])).toEqual([
      ["cohere/rerank-v3.5", ["berlin"]]
    ])
  })

  it("turn a built-in model off by an empty list", async () => {
    const everything = await Effect.runPromise(
      offered(
        fileOf(`{ "models": { "cohere/rerank-v3.5": { "offers": [] }, "sandbox/bm25": { "offers": [] } } }`),
        environment
      )
    )
    const ids = everything.offers.map(({ publicId }) => publicId)
    expect(ids).not.toContain("cohere/rerank-v3.5")
    expect(ids).not.toContain("sandbox/bm25")
    expect(ids).toContain("sandbox/tones")
  })

  it("are for callers with a provider key if the upstream has no key", async () => {
    const models = `{ "models": { "acme/rerank": { "offers": [{ "upstream": "cohere", "model": "rerank-v3.5" }] } } }`
    const [model] = await listed(models, {})
    expect(model?.offers.map(({ credential }) => credential)).toEqual(["only for callers with a provider key"])
  })

  it("call an upstream with a key of the file rather than none, and with a variable rather than the file", async () => {
    const text = `{ "upstreams": { "cohere": { "apiKey": { "env": "BERLIN_KEY" } } } }`
    const sourceWith = async (variables: Record<string, string>) =>
      (await listed(text, variables)).flatMap(({ offers }) => offers.map(({ credential }) => credential))
    expect(await sourceWith({ BERLIN_KEY: "co-1" })).toEqual(["BERLIN_KEY in the environment"])
    expect(await sourceWith({ BERLIN_KEY: "co-1", COHERE_API_KEY: "co-2" })).toEqual([
      "COHERE_API_KEY in the environment"
    ])
  })

  const offer = (rest: string) => `{ "models": {\n"acme/rerank": { "offers": [\n{ ${rest} }] } } }`
  const cohere = `"upstream": "cohere", "model": "rerank-v3.5"`

  it.each([
    [
      `{ "upstreams": {\n"berlin": { "adapter": "coher" } } }`,
      /^"upstreams.berlin.adapter" on line 2 of FILE is "coher", which is not one of .*cohere.*\.$/
    ],
    [
      `{ "upstreams": {\n"coher": {} } }`,
      `"upstreams.coher" on line 2 of FILE has no "adapter", and no adapter has this name. Did you mean "cohere"?`
    ],
    [
      `{ "upstreams": { "sandbox": { "adapter": "cohere" } } }`,
      `"upstreams.sandbox" on line 1 of FILE has the name of the sandbox. Choose another.`
    ],
    [
      `{ "upstreams": { "Berlin 1": { "adapter": "cohere" } } }`,
      `"upstreams.Berlin 1" on line 1 of FILE is not allowed in an object of upstreams by their names of lowercase letters, digits, - and _.`
    ],
    [
      `{ "upstreams": {\n"berlin": { "adapter": "cohere",\n"url": "https://a.example" } } }`,
      /^"upstreams.berlin.url" on line 3 of FILE is not a setting\. Did you mean "\w+"\?$/
    ],
    [
      `{ "upstreams": {\n"berlin": { "adapter": "cohere",\n"baseUrl": "rerank.internal" } } }`,
      `"upstreams.berlin.baseUrl" on line 3 of FILE is "rerank.internal", which is not an http:// or https:// URL without user name, query or fragment.`
    ],
    [
      `{ "upstreams": { "cohere": { "baseUrl": "https://me:${secret}@a.example" } } }`,
      `"upstreams.cohere.baseUrl" on line 1 of FILE is "https://…@a.example", which is not an http:// or https:// URL without user name, query or fragment.`
    ],
    [
      `{ "upstreams": { "cohere": { "apiKey": "${secret} two" } } }`,
      `"upstreams.cohere.apiKey" on line 1 of FILE is not an API key of printable ASCII characters without spaces, { "env": "NAME" } or { "file": "/run/secrets/name" }.`
    ],
    [
      `{ "upstreams": { "cohere": ["${secret}"] } }`,
      `"upstreams.cohere" on line 1 of FILE is not an object such as { "adapter": "openai", "baseUrl": "https://whisper.internal/v1" }.`
    ],
    [
      `{ "upstreams": { "cohere": { "apiKey": {\n"environment": "X" } } } }`,
      `"upstreams.cohere.apiKey" on line 1 of FILE is not an API key of printable ASCII characters without spaces, { "env": "NAME" } or { "file": "/run/secrets/name" }.`
    ],
    [
      `{ "upstreams": { "cohere": { "apiKey": { "env": "NOT_SET" } } } }`,
      `"upstreams.cohere.apiKey" on line 1 of FILE names the variable NOT_SET, which is not set.`
    ],
    [
      `{ "upstreams": { "second": { "adapter": "cohere" } } }`,
      `"upstreams.second" on line 1 of FILE has no "apiKey", which Cohere requires.`
    ],
    [
      `{ "upstreams": { "cohere": { "timeLimit": "0 seconds" } } }`,
      `"upstreams.cohere.timeLimit" on line 1 of FILE is "0 seconds", which is not a duration above 0 seconds, such as 20 seconds.`
    ],
    [`{ "upstreams": { ${berlin},\n${berlin} } }`, `"upstreams.berlin" on line 2 of FILE is set twice.`],
    [`{ "models": [] }`, `"models" on line 1 of FILE is not an object of models by their ids, which have no spaces.`],
    [
      `{ "models": { "acme/rerank": { "offers": [{ "upstream": "cohere", "model": "a\\u0000" }] } } }`,
      /^"models.acme\/rerank.offers\[0\].model" on line 1 of FILE is .* which is not the upstream's id of a model\.$/
    ],
    [`{ "models": {\n"acme/rerank": {} } }`, `"models.acme/rerank" on line 2 of FILE has no "offers".`],
    [offer(`"model": "rerank-v3.5"`), `"models.acme/rerank.offers[0]" on line 3 of FILE has no "upstream".`],
    [
      offer(`"upstream": "cohre", "model": "rerank-v3.5"`),
      `"models.acme/rerank.offers[0].upstream" on line 3 of FILE is "cohre", which is not an upstream. Did you mean "cohere"? Add others to "upstreams".`
    ],
    [
      offer(`"upstream": "cohere", "model": "new-model"`),
      `"models.acme/rerank.offers[0]" on line 3 of FILE has no "price", and the catalog has none for new-model of Cohere. Give "search_unit", or "input_tokens" and "output_tokens".`
    ],
    [
      offer(`${cohere}, "price": { "second": 1 }`),
      `"models.acme/rerank.offers[0].price" on line 3 of FILE is not a price of a rerank model. Give "search_unit", or "input_tokens" and "output_tokens".`
    ],
    [
      offer(`"upstream": "jina", "model": "jina-reranker-v3", "price": { "search_unit": 1 }`),
      `"models.acme/rerank.offers[0]" on line 3 of FILE cannot be offered: must be a rerank model with a price per token.`
    ],
    [
      offer(`${cohere}, "price": { "search_unit": -1 }`),
      `"models.acme/rerank.offers[0].price.search_unit" on line 3 of FILE is -1, which is not a number of credits from 0 to 1000000.`
    ],
    [
      offer(`${cohere}, "price": { "search_units": 1 }`),
      `"models.acme/rerank.offers[0].price.search_units" on line 3 of FILE is not a setting. Did you mean "search_unit"?`
    ],
    [
      `{ "models": { "acme/rerank": { "kind": "ranking", "offers": [] } } }`,
      `"models.acme/rerank.kind" on line 1 of FILE is "ranking", which is not one of rerank, transcription, video.`
    ],
    [
      `{ "models": { "acme/video": { "kind": "video", "offers": [{ ${cohere} }] } } }`,
      `"models.acme/video.offers[0].upstream" on line 1 of FILE is "cohere", but Cohere has no video models.`
    ],
    [
      `{ "models": { "acme/rerank": { "offers": [{ ${cohere} },\n{ ${cohere} }] } } }`,
      `Two offers use the upstream "cohere": see "models.acme/rerank.offers[1].upstream" on line 2 of FILE. An upstream can have one offer of a model.`
    ],
    [
      `{ "models": { "cohere/rerank-v35": { "offers": [] } } }`,
      `"models.cohere/rerank-v35" on line 1 of FILE has no offers, and there is no built-in model with this id to turn off.`
    ]
  ])("with %j are rejected in one sentence that names the line", async (text, sentence) => {
    const message = await refusal(text)
    if (typeof sentence === "string") expect(message).toBe(sentence)
    else expect(message).toMatch(sentence)
    expect(message).not.toContain(secret)
  })
})

describe("settings check", () => {
  it("names the upstreams of valid settings, and never a key", async () => {
    const file = fileOf(`{
      "upstreams": { "cohere": {}, ${berlin} },
      "models": { "acme/rerank": { "offers": [{ "upstream": "berlin", "model": "rerank-v3.5" }] } }
    }`)
    const { code, stderr, stdout } = await run(["settings", "check", "--config", file], { BERLIN_KEY: secret })
    expect({
      code,
      stderr,
      stdout: stdout.replace(/, of .* models\.$/m, ", of today.").replace(/\d+ models, in/, "some models, in")
    }).toEqual({
      code: 0,
      stderr: "",
      stdout: [
        "The settings are valid.",
        "Catalog of models: the built-in one, of today.",
        "Upstreams:",
        "  cohere   no COHERE_API_KEY, so only for callers with a provider key, Cohere at https://api.cohere.com",
        "  berlin   1 model, Cohere at https://rerank.internal",
        "  sandbox  some models, in this process",
        ""
      ].join("\n")
    })
  })

  it("exits with the sentence that serve would exit with", async () => {
    const file = fileOf(`{ "upstreams": { "coher": {} } }`)
    const message = `"upstreams.coher" on line 1 of ${file} has no "adapter", and no adapter has this name. Did you mean "cohere"?\n`
    for (const command of [["settings", "check"], ["models"], ["serve", "--port", "0"]]) {
      const { code, stderr, stdout } = await run([...command, "--config", file])
      expect({ code, stderr, stdout }).toEqual({ code: 1, stderr: message, stdout: "" })
    }
  })
})

describe("models", () => {
  it("lists the offers of each model in order, as a table for people and as JSON for programs", async () => {
    const file = fileOf(`{
      "upstreams": { ${berlin} },
      "models": { "acme/rerank": { "offers": [
        { "upstream": "berlin", "model": "rerank-v3.5", "timeLimit": "3 seconds" },
        { "upstream": "cohere", "model": "rerank-v3.5" }
      ] } }
    }`)
    const table = await run(["models", "--config", file], environment)
    expect(
      table.stdout
        .split("\n")
        .slice(0, 3)
        .map((line) => line.split(/ {2,}/))
    ).toEqual([
      ["MODEL", "KIND", "UPSTREAM", "MODEL THERE", "CREDITS", "TIME LIMIT", "API KEY"],
      [
        "acme/rerank",
        "rerank",
        "berlin",
        "rerank-v3.5",
        "0.002 per search unit (unconfirmed)",
        "3 seconds",
        "BERLIN_KEY in the environment"
      ],
      [
        "",
        "cohere",
        "rerank-v3.5",
        "0.002 per search unit (unconfirmed)",
        "20 seconds",
        "COHERE_API_KEY in the environment"
      ]
    ])
    const { stdout } = await run(["models", "--json", "--config", file], environment)
    expect(JSON.parse(stdout)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: "acme/rerank",
          offers: [expect.objectContaining({ upstream: "berlin" }), expect.objectContaining({ upstream: "cohere" })]
        })
      ])
    )
    for (const key of Object.values(environment)) expect(table.stdout + stdout).not.toContain(key)
  })
})
