// Which sources of the service can open a connection or look up a name, and for whom. A URL of a
// caller must only be requested by OutboundHttp, which checks the address that it connects to.
import { describe, expect, it } from "vitest"
import { imports, packages, sources } from "./Workspace.ts"

/** To whom each of them connects. */
const expected: Readonly<Record<string, string>> = {
  "server/outbound/HostNames.ts": "name servers: it looks up the hosts of OutboundHttp and UpstreamLookup",
  "server/outbound/OutboundHttp.ts":
    "URLs of callers and links of upstreams: callbacks, broadcast destinations, videos",
  "server/http/ProtocolChecks.ts": "nobody: it looks at incoming requests",
  "server/outbound/UpstreamLookup.ts": "nobody: it looks up the hosts of base URLs",
  "sandbox/internal/imageLink.ts": "links of callers to images, with the client of OutboundHttp",
  "offers/UpstreamHttp.ts": "base URLs that the operator configures, and links at their origins",
  "providers/internal/gatewayClient.ts": "base URLs that the operator configures",
  "providers/Bedrock.ts": "nobody: it passes the client that signs on to UpstreamHttp",
  "providers/internal/awsSigning.ts":
    "base URLs that the operator configures, and where AWS's library finds credentials, if the operator configures none",
  "providers/internal/googleAuth.ts":
    "Google's token server, the host of the base URL, and the metadata server of the gateway's own machine"
}

/** Connects to the operator's own database, Redis and bucket. */
const storage = "server/storage/"

const modules = /^(?:node:(?:http|https|http2|net|tls|dgram|dns)|undici|@effect\/platform-node.*)$/

/** Names of `effect/http` whose value can send a request. */
const clients = /\b(?:HttpClient|FetchHttpClient)\b/

/** The values, not types, that a source imports from `effect/http`. */
const valuesOfHttp = (code: string): string =>
  [...code.matchAll(/import (?!type)\{([^}]*)\} from "effect\/http"/g)]
    .flatMap(([, names = ""]) => names.split(","))
    .filter((name) => !/^\s*type /.test(name))
    .join(",")

const connects = (code: string): boolean =>
  imports(code).some((specifier) => modules.test(specifier)) ||
  clients.test(valuesOfHttp(code)) ||
  /(?<![\w.])fetch\(/.test(code)

describe("a source that can open a connection", () => {
  // Images, frames, references and audio are passed on to upstreams or decoded from data: URIs.
  it("is known, with those to whom it connects", () => {
    const found = packages
      .filter(({ name }) => ["server", "offers", "providers", "sandbox"].includes(name))
      .flatMap((each) =>
        sources(each, "src").map(({ code, path }) => ({ code, path: path.replace("src/", `${each.name}/`) }))
      )
      .filter(({ code, path }) => !path.startsWith(storage) && connects(code))
      .map(({ path }) => path)
    expect(found.toSorted()).toEqual(Object.keys(expected).toSorted())
  })
})
