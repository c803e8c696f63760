import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, FileSystem, Layer, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Credential } from "@model-gateway/offers/Offer"
import * as Bedrock from "../src/Bedrock.ts"
import { type AccessKey, documentedErrors, startBedrockDouble } from "@model-gateway/test-doubles/BedrockDouble"
import { startDouble } from "@model-gateway/test-doubles/Double"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { key, offered, reasonText, request, rerankSuite, type Subject, texts, undici } from "./support/rerankSuite.ts"
import { started } from "./support/transcription.ts"

const pair: AccessKey = {
  accessKeyId: "AKIAEXAMPLE0123456",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
}

const temporary: AccessKey = { ...pair, accessKeyId: "ASIAEXAMPLE0123456", sessionToken: "FwoGZXIvYXdzEXAMPLE+/==" }

const secretOf = ({ accessKeyId, secretAccessKey, sessionToken }: AccessKey): string =>
  [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])].join(":")

const credentialOf = (secret: string): Credential => ({ id: "own", secret: Redacted.make(secret) })

const subject: Subject = {
  adapter: Bedrock.adapter,
  start: (options) => startBedrockDouble({ ...options, pairs: [pair, temporary] }),
  path: "",
  operation: "model/cohere.rerank-v3-5%3A0/invoke",
  bodyOf: (results) => ({ results }),
  scorePath: "results.0.relevance_score"
}

/** The variables of the process. */
const withVariables = (variables: Record<string, string>) =>
  Layer.succeed(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(variables))

const inOregon = Effect.provide(withVariables({ AWS_REGION: "us-west-2" }))

const amazon = Bedrock.adapter.models.find(({ upstreamId }) => upstreamId.startsWith("amazon."))

/** Signed requests to a double whose clock is the test's. */
const signed = (credential: Credential, options: Partial<Upstream> = {}) => offered(subject, { credential, ...options })

describe("Bedrock", () => {
  rerankSuite(subject)

  it.live("sends the version of the body to Cohere's model alone, and an API key as it is", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      yield* run({ ...request, top_n: 2, options: { max_tokens_per_doc: 512 } })
      const other = yield* offered(subject, {}, amazon?.kind === "rerank" ? amazon : assert.fail("no such model"))
      yield* other.run(request)
      assert.deepStrictEqual(JSON.parse(double.state.requests[0]?.text ?? ""), {
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        top_n: 2,
        api_version: 2,
        max_tokens_per_doc: 512
      })
      const [{ headers, text, url } = assert.fail("no request")] = other.double.state.requests
      assert.deepStrictEqual([url, headers["authorization"]], ["/model/amazon.rerank-v1%3A0/invoke", `Bearer ${key}`])
      assert.deepStrictEqual(JSON.parse(text), {
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"]
      })
    }).pipe(undici)
  )

  it.live("signs requests with an access key, also a temporary one", () =>
    Effect.gen(function* () {
      for (const each of [pair, temporary]) {
        const { double, run } = yield* signed(credentialOf(secretOf(each)))
        assert.deepStrictEqual(
          (yield* run(request)).answer.results.map(({ index }) => index),
          [1, 2, 0]
        )
        const { headers } = double.state.requests[0] ?? assert.fail("no request")
        assert.match(headers["authorization"] ?? "", /^AWS4-HMAC-SHA256 Credential=A[KS]IAEXAMPLE0123456\//)
        assert.strictEqual(headers["x-amz-security-token"], each.sessionToken)
      }
      // The gateway's API key and a caller's access key at the same offer.
      const { run } = yield* offered(subject)
      yield* run(request, credentialOf(secretOf(pair)))
      const { reason } = yield* Effect.flip(run(request, credentialOf(secretOf({ ...pair, secretAccessKey: "wrong" }))))
      assert.strictEqual(reasonText(reason), "Unauthorized: the provider rejected its credentials")
    }).pipe(inOregon, undici)
  )

  it.effect("signs with the time of its clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-24T12:00:00Z"))
      const double = yield* started(() =>
        startBedrockDouble({ keys: [], pairs: [pair], now: () => Date.parse("2026-11-24T12:01:00Z") })
      )
      const upstream = { name: "bedrock", baseUrl: double.url, credential: credentialOf(secretOf(pair)) }
      const [offer] = yield* Bedrock.adapter.offers(upstream, Bedrock.adapter.models)
      if (offer?.kind !== "rerank") return assert.fail("no rerank offer")
      yield* offer.run(request, upstream.credential)
      assert.strictEqual(double.state.requests[0]?.headers["x-amz-date"], "20261124T120000Z")
    }).pipe(inOregon, undici)
  )

  it.live("takes the region from the host of AWS, or else from AWS_REGION, and signs nothing without one", () =>
    Effect.gen(function* () {
      const { run } = yield* signed(credentialOf(secretOf(pair)))
      assert.strictEqual((yield* Effect.flip(run(request))).reason._tag, "Unauthorized")
      const frankfurt = yield* Effect.provide(
        signed(credentialOf(secretOf(pair))),
        withVariables({ AWS_REGION: "eu-central-1" })
      )
      // The double is in us-west-2.
      assert.strictEqual((yield* Effect.flip(frankfurt.run(request))).status, 403)
    }).pipe(Effect.provide(withVariables({})), undici)
  )

  it.live("reads the region from hosts of AWS in any partition, also of endpoints in one's own network", () =>
    Effect.gen(function* () {
      const credential = credentialOf(secretOf(pair))
      const scopes: Array<string | undefined> = []
      const client = HttpClient.make((request) => {
        scopes.push(/Credential=\w+\/\d+\/([^,]+),/.exec(request.headers["authorization"] ?? "")?.[1])
        return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: 500 })))
      })
      for (const host of [
        "bedrock-runtime.eu-central-1.amazonaws.com",
        "bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
        "vpce-0a1b2c-3d4e5f.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com"
      ]) {
        const upstream = { name: "bedrock", baseUrl: `https://${host}`, credential }
        const [offer] = yield* Effect.provideService(
          Bedrock.adapter.offers(upstream, Bedrock.adapter.models),
          HttpClient.HttpClient,
          client
        )
        if (offer?.kind !== "rerank") return assert.fail("no rerank offer")
        yield* Effect.flip(offer.run(request, credential))
      }
      assert.deepStrictEqual(scopes, [
        "eu-central-1/bedrock/aws4_request",
        "us-gov-west-1/bedrock/aws4_request",
        "ap-southeast-2/bedrock/aws4_request"
      ])
    }).pipe(inOregon)
  )

  /** Variables of the process, which AWS's own library reads. */
  const inProcess = (variables: Readonly<Record<string, string | undefined>>) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]))
        set(variables)
        return before
      }),
      (before) => Effect.sync(() => set(before))
    )

  const set = (variables: Readonly<Record<string, string | undefined>>) => {
    for (const [name, value] of Object.entries(variables)) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  }

  const nothing = {
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
    AWS_CONFIG_FILE: "/nonexistent"
  }

  const withoutKey = { credential: { id: "gateway" } }

  it.live("signs without a key with the variables of AWS", () =>
    Effect.gen(function* () {
      yield* inProcess({
        ...nothing,
        AWS_ACCESS_KEY_ID: temporary.accessKeyId,
        AWS_SECRET_ACCESS_KEY: temporary.secretAccessKey,
        AWS_SESSION_TOKEN: temporary.sessionToken
      })
      const { double, run } = yield* offered(subject, withoutKey)
      yield* run(request)
      assert.strictEqual(double.state.requests[0]?.headers["x-amz-security-token"], temporary.sessionToken)
    }).pipe(inOregon, undici)
  )

  it.live("signs without a key with a profile", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.makeTempFileScoped()
      yield* fs.writeFileString(
        file,
        `[acme]\naws_access_key_id = ${pair.accessKeyId}\naws_secret_access_key = ${pair.secretAccessKey}\n`
      )
      yield* inProcess({ ...nothing, AWS_PROFILE: "acme", AWS_SHARED_CREDENTIALS_FILE: file })
      const { run } = yield* offered(subject, withoutKey)
      yield* run(request)
    }).pipe(inOregon, Effect.provide(NodeServices.layer), undici)
  )

  it.live("signs without a key with the role of the machine", () =>
    Effect.gen(function* () {
      const role = yield* started(() =>
        startDouble({
          answerTo: () => ({
            body: {
              AccessKeyId: temporary.accessKeyId,
              SecretAccessKey: temporary.secretAccessKey,
              Token: temporary.sessionToken,
              Expiration: "2999-01-01T00:00:00Z"
            }
          })
        })
      )
      yield* inProcess({ ...nothing, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${role.url}/role` })
      const { run } = yield* offered(subject, withoutKey)
      yield* run(request)
      yield* run(request)
      // They are kept until they expire.
      assert.lengthOf(role.state.requests, 1)
    }).pipe(inOregon, undici)
  )

  it.live("calls nothing if AWS's library finds no keys", () =>
    Effect.gen(function* () {
      yield* inProcess(nothing)
      const { double, run } = yield* offered(subject, withoutKey)
      assert.strictEqual((yield* Effect.flip(run(request))).reason._tag, "Unauthorized")
      assert.lengthOf(double.state.requests, 0)
    }).pipe(inOregon, undici)
  )

  it.live("maps AWS's errors", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const reasons: ReadonlyArray<readonly [keyof typeof documentedErrors, string]> = [
        ["wrongKey", "Unauthorized"],
        ["noAccess", "Unauthorized"],
        ["noModel", "InvalidRequest"],
        ["throttled", "RateLimited"],
        ["notReady", "RateLimited"],
        ["timeout", "Timeout"],
        ["unavailable", "Overloaded"],
        ["server", "BadResponse"]
      ]
      for (const [error, tag] of reasons) {
        double.next(documentedErrors[error])
        assert.deepStrictEqual([error, (yield* Effect.flip(run(request))).reason._tag], [error, tag])
      }
    }).pipe(undici)
  )

  it.live("charges a search unit for each 100 chunks, and quotes the same", () =>
    Effect.gen(function* () {
      const { offer, run } = yield* offered(subject)
      for (const [documents, units] of [
        [texts(100, "tea"), 1],
        [texts(101, "tea"), 2],
        [texts(60, "tea ".repeat(600)), 2]
      ] as const) {
        assert.deepStrictEqual<unknown>((yield* run({ ...request, documents })).charge, {
          cost: 2000 * units,
          usage: { search_units: units }
        })
        assert.strictEqual(offer.quote({ ...request, documents }), 2000 * units)
      }
    }).pipe(undici)
  )

  it.live("splits long requests for Cohere's model, and refuses them for Amazon's", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const documents = texts(1001, "tea")
      assert.lengthOf((yield* run({ ...request, documents })).answer.results, 1001)
      assert.lengthOf(double.state.requests, 2)
      const other = yield* offered(subject, {}, amazon?.kind === "rerank" ? amazon : assert.fail("no such model"))
      assert.strictEqual((yield* Effect.flip(other.run({ ...request, documents }))).reason._tag, "InputTooLarge")
    }).pipe(undici)
  )

  it.live("shows no secret, session token or signature in errors, logs and spans", () =>
    Effect.gen(function* () {
      const { double, run } = yield* signed(credentialOf(secretOf(temporary)))
      for (const scripted of [{}, documentedErrors.wrongSignature, { fault: "cut" as const }]) {
        double.next(scripted)
        const text = yield* recorded(run(request))
        const { authorization = "" } = double.state.requests.at(-1)?.headers ?? {}
        const signature = /Signature=(\w+)/.exec(authorization)?.[1] ?? assert.fail("not signed")
        for (const secret of [temporary.secretAccessKey, temporary.sessionToken ?? "none", signature]) {
          assert.notInclude(text, secret)
        }
      }
    }).pipe(inOregon, undici)
  )
})
