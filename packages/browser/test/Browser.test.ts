// Runs in a real Chromium, against a server that reads uploads only as far as the test allows.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Browser, chromium, type Page } from "playwright-core"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import type { Actions } from "./pages/page.ts"
import { bundle, host, open } from "./support/Page.ts"
import { envelope, json, readUpTo, serve, type Server } from "./support/Server.ts"

declare const actions: Actions

const megabyte = 1024 * 1024

const ranking = {
  id: "rr-1",
  model: "sandbox/bm25",
  results: [{ index: 1, relevance_score: 1.2, document: { text: "pears" } }]
}

const stored = {
  _shape: "native",
  id: "file-1",
  type: "file",
  filename: "zeros.bin",
  mime_type: "application/octet-stream",
  size_bytes: 1,
  created_at: "2026-11-20T10:00:00Z",
  downloadable: true
}

const options = launchOptions()

describe.skipIf(options === undefined)("in a browser", () => {
  let browser: Browser
  let code: string
  let server: Server
  let page: Page
  let complaints: ReadonlyArray<string>

  /** The number of tokens issued so far: `mg_ek_1`, `mg_ek_2` and so on, valid for five minutes. */
  let tokens = 0
  const handOutTokens = (key = () => `mg_ek_${tokens}`) =>
    server.on("/token", (_, response) => {
      tokens++
      json(response, 200, { key: key(), expires_at: new Date(Date.now() + 300_000).toISOString() })
    })

  const outcome = (): Promise<string> => page.evaluate(() => actions.outcome()).then((text) => text ?? "nothing ran")
  const progress = () => page.evaluate(() => actions.progress())
  const sent = (path: string) => server.seen.filter((each) => each.path === path)

  beforeAll(async () => {
    ;[browser, code] = await Promise.all([chromium.launch(options), bundle()])
  }, 60_000)
  afterAll(() => browser.close())

  beforeEach(async () => {
    tokens = 0
    server = await serve()
    handOutTokens()
    host(server, code, `<meta name="model-gateway-token-endpoint" content="/token" />`)
    ;({ complaints, page } = await open(browser, server))
  })
  afterEach(async () => {
    await page.context().close()
    await server.close()
  })

  it("runs a program against the scripted gateway of @model-gateway/testing without network requests", async () => {
    await page.evaluate(() => actions.scripted())
    expect(await outcome()).toMatch(/^ok: \{"results":\d+,"attempts":\[1,2,3\]\}$/)
    expect(server.seen.filter(({ path }) => path !== "/" && path !== "/page.js")).toEqual([])
    expect(complaints).toEqual([])
  })

  it("calls the gateway at the page's own origin with a short-lived token", async () => {
    server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
    await page.evaluate(() => actions.rerank())
    expect(await outcome()).toBe(`ok: ${JSON.stringify(ranking)}`)
    expect(sent("/api/v1/rerank").map((each) => each.authorization)).toEqual(["Bearer mg_ek_1"])
    expect(sent("/api/v1/rerank")[0]?.headers).not.toHaveProperty("traceparent")
    expect(complaints).toEqual([])
  })

  it("reports an upload's progress, and its result at the end", async () => {
    let more = () => {}
    server.on("/api/v1/files", (request, response, seen) => {
      more = readUpTo(request, seen, 2 * megabyte).more
      request.on("end", () => json(response, 200, stored))
    })
    for (const action of ["uploadWatched", "uploadStreamed"] as const) {
      await page.evaluate(([action, bytes]) => actions[action](bytes), [action, 64 * megabyte] as const)
      await page.waitForFunction(() => actions.progress().some((step) => step.loaded > 0))
      const before = await progress()
      expect(before[0]).toEqual({ ...before[0], loaded: 0 })
      expect(before.at(-1)?.loaded).toBeLessThan(64 * megabyte)
      expect(before.at(-1)?.total).toBeGreaterThan(64 * megabyte)

      more()
      expect(await outcome()).toMatch(/^ok: .*file-1/)
      const steps = (await progress()).map((step) => step.loaded)
      expect(steps).toEqual(steps.toSorted((a, b) => a - b))
      expect(steps.at(-1)).toBe((await progress()).at(-1)?.total)
      expect(new Set(steps).size).toBeGreaterThan(2)
    }
    expect(complaints).toEqual([])
  })

  it("an upload with progress has the same errors as any other", async () => {
    server.on("/api/v1/files", (request, response) => {
      request.resume()
      request.on("end", () => json(response, 400, envelope(400, "purpose is too long")))
    })
    await page.evaluate(() => actions.uploadWatched(10))
    expect(await outcome()).toBe("BadRequest: uploadFile: 400 purpose is too long (request req_test, 1 attempt)")

    server.on("/api/v1/files", (request) => request.destroy())
    await page.evaluate(() => actions.uploadWatched(10))
    expect(await outcome()).toMatch(/^TransportError: uploadFile: the connection failed \(the network failed/)
  })

  it("an upload whose response has a status that does not exist fails at once", async () => {
    server.on("/api/v1/files", (request, response) => {
      request.resume()
      request.on("end", () => response.writeHead(999).end())
    })
    await page.evaluate(() => actions.uploadWithin(10, {}))
    expect(await outcome()).toMatch(/^TransportError: uploadFile: .*999/)
  })

  it.each(["upload", "uploadWatched", "uploadStreamed"] as const)(
    "%s: cancelling stops it at the server",
    async (action) => {
      let more = () => {}
      server.on("/api/v1/files", (request, _, seen) => {
        more = readUpTo(request, seen, megabyte).more
      })
      const arrived = server.next("/api/v1/files")
      await page.evaluate(([action, bytes]) => actions[action](bytes), [action, 64 * megabyte] as const)
      const upload = await arrived
      await page.evaluate(() => actions.cancel())
      expect(await outcome()).toBe("interrupted")
      // The server notices the abort only if it continues to read.
      more()
      expect(await upload.ended).toBe("aborted")
      expect(upload.received).toBeLessThan(64 * megabyte)
      expect(sent("/api/v1/files")).toHaveLength(1)
    }
  )

  it("uploads that move outlive every time limit, although the page does not listen to their progress", async () => {
    const paused: Array<() => void> = []
    for (const [path, response] of [
      ["/api/v1/files", stored],
      ["/api/v1/rerank", ranking]
    ] as const) {
      server.on(path, (request, reply, seen) => {
        paused.push(readUpTo(request, seen, 2 * megabyte).more)
        request.on("end", () => json(reply, 200, response))
      })
    }
    const limits = { attemptTimeout: "5 seconds", deadline: "5 seconds" } as const
    const arrived = Promise.all([server.next("/api/v1/files"), server.next("/api/v1/rerank")])
    await page.evaluate(([bytes, limits]) => actions.uploadBothWithin(bytes, limits), [16 * megabyte, limits] as const)
    await arrived
    // Longer than both limits.
    setTimeout(() => paused.forEach((more) => more()), 5500)
    expect(await outcome()).toMatch(/^ok: .*file-1.*rr-1/)
    expect(complaints).toEqual([])
  })

  it("an upload that stalls ends at the limit for that, and its connection is closed", async () => {
    let more = () => {}
    server.on("/api/v1/files", (request, _, seen) => {
      more = readUpTo(request, seen, 2 * megabyte).more
    })
    const arrived = server.next("/api/v1/files")
    await page.evaluate((bytes) => actions.uploadWithin(bytes, { stallTimeout: "1 second" }), 64 * megabyte)
    expect(await outcome()).toMatch(/^TimeoutError: uploadFile: no progress within 1000 ms, after 1 attempt\./)
    more()
    expect(await (await arrived).ended).toBe("aborted")
  })

  it("a form has the headers and cookies that RequestInit says", async () => {
    server.on("/api/v1/files", (request, response) => {
      request.resume()
      request.on("end", () => json(response, 200, stored))
    })
    await page.evaluate(() => void (document.cookie = "visitor=1"))
    for (const credentials of ["include", "omit"] as const) {
      await page.evaluate(
        (credentials) => actions.uploadWith({ headers: { "x-tenant": "acme" }, credentials }),
        credentials
      )
      expect(await outcome()).toMatch(/^ok/)
    }
    expect(sent("/api/v1/files").map(({ headers }) => [headers["x-tenant"], headers.cookie])).toEqual([
      ["acme", "visitor=1"],
      ["acme", undefined]
    ])
    expect(complaints).toEqual([])
  })

  it("a response that stalls ends at the limit of its attempt, and its connection is closed", async () => {
    const closed = new Promise((resolve) => {
      server.on("/api/v1/rerank", (_, response) => {
        response.on("close", resolve)
        response.writeHead(200, { "content-type": "application/json" }).write("{")
      })
    })
    await page.evaluate(() => actions.rerankWithin({ attemptTimeout: "1 second" }))
    expect(await outcome()).toMatch(/^TimeoutError: rerank: no response within 1000 ms, after 1 attempt\./)
    await closed
  })

  it("a download that stalls ends at the limit for that, and its connection is closed", async () => {
    const closed = new Promise((resolve) => {
      server.on("/api/v1/files/file-1/content", (_, response) => {
        response.on("close", resolve)
        response.writeHead(200, { "content-length": "30" }).write(new Uint8Array(10))
      })
    })
    await page.evaluate(() => actions.downloadWithin({ stallTimeout: "1 second" }))
    expect(await outcome()).toMatch(/^TimeoutError: fileContent: no progress within 1000 ms, after 1 attempt\./)
    expect((await progress()).map((step) => step.loaded)).toEqual([10])
    await closed
  })

  it("a download that is cut off continues where it ended", async () => {
    const ranges: Array<string | undefined> = []
    server.on("/api/v1/files/file-1/content", (request, response) => {
      ranges.push(request.headers.range)
      const headers = { etag: '"v1"', "accept-ranges": "bytes" }
      if (request.headers.range === "bytes=10-" && request.headers["if-range"] === '"v1"') {
        response
          .writeHead(206, { ...headers, "content-range": "bytes 10-29/30", "content-length": "20" })
          .end(new Uint8Array(20))
      } else {
        response.writeHead(200, { ...headers, "content-length": "30" }).write(new Uint8Array(10))
        // The page reads what has arrived before the connection breaks.
        void page.waitForFunction(() => actions.progress().length > 0).then(() => response.destroy())
      }
    })
    await page.evaluate(() => actions.download())
    expect(await outcome()).toBe("ok: undefined")
    expect((await progress()).reduce((sum, step) => sum + step.loaded, 0)).toBe(30)
    expect(ranges).toEqual([undefined, "bytes=10-"])
    // The browser itself reports the broken connection.
    expect(complaints.filter((text) => !text.includes("net::ERR"))).toEqual([])
  })

  describe("a redirect", () => {
    const models = { object: "list", data: [], links: { next: null }, total_count: 0 }
    let other: Server
    beforeEach(async () => {
      other = await serve()
    })
    afterEach(() => other.close())

    const redirect = (path: string, location: string) =>
      server.on(path, (request, response) => {
        request.resume()
        request.on("end", () => response.writeHead(307, { location }).end())
      })

    it("of a GET to the same origin is followed", async () => {
      redirect("/api/v1/models", "/moved/models")
      server.on("/moved/models", (_, response) => json(response, 200, models))
      await page.evaluate(() => actions.listModels())
      expect(await outcome()).toMatch(/^ok: /)
      expect(sent("/moved/models").map(({ authorization }) => authorization)).toEqual(["Bearer mg_ek_1"])
    })

    it("of a GET to another origin is an error that names it, and the token does not go there", async () => {
      redirect("/api/v1/models", `${other.origin}/models?secret`)
      other.on("/models", (_, response) => json(response, 200, models, { "access-control-allow-origin": "*" }))
      await page.evaluate(() => actions.listModels())
      expect(await outcome()).toMatch(new RegExp(`^InvalidResponse: listModels: .*redirect to ${other.origin}/models,`))
      expect(other.seen.map(({ authorization }) => authorization)).toEqual([undefined])
    })

    it("of a GET to an origin that does not allow the page is an error that says so", async () => {
      redirect("/api/v1/models", `${other.origin}/models`)
      await page.evaluate(() => actions.listModels())
      expect(await outcome()).toMatch(/^InvalidResponse: listModels: .*a redirect, which was not followed/)
      expect(sent("/api/v1/models")).toHaveLength(2)
    })

    it("of a POST is an error that says so, and is not followed", async () => {
      redirect("/api/v1/rerank", "/moved/rerank")
      await page.evaluate(() => actions.rerank())
      expect(await outcome()).toMatch(/^InvalidResponse: rerank: .*a redirect, which was not followed/)
      expect(sent("/api/v1/rerank")).toHaveLength(1)
      expect(sent("/moved/rerank")).toEqual([])
    })

    it("of a form is an error that names where it led", async () => {
      redirect("/api/v1/files", "/moved/files")
      server.on("/moved/files", (request, response) => {
        request.resume()
        request.on("end", () => json(response, 200, stored))
      })
      await page.evaluate(() => actions.upload(10))
      expect(await outcome()).toMatch(
        new RegExp(`^InvalidResponse: uploadFile: .*redirect to ${server.origin}/moved/files,`)
      )
    })

    it("of the token endpoint is followed", async () => {
      redirect("/token", "/moved/token")
      server.on("/moved/token", (_, response) => json(response, 200, { key: "mg_ek_moved", expires_at: null }))
      server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
      await page.evaluate(() => actions.rerank())
      expect(await outcome()).toMatch(/^ok/)
      expect(sent("/api/v1/rerank").map(({ authorization }) => authorization)).toEqual(["Bearer mg_ek_moved"])
    })
  })

  it("canceling during the delay before a retry ends the call at once", async () => {
    server.on("/api/v1/rerank", (_, response) => json(response, 503, envelope(503, "down"), { "retry-after": "60" }))
    const arrived = server.next("/api/v1/rerank")
    const answered = page.waitForResponse("**/api/v1/rerank")
    await page.evaluate(() => actions.rerank())
    await arrived
    await answered
    await page.evaluate(() => actions.cancel())
    expect(await outcome()).toBe("interrupted")
    expect(sent("/api/v1/rerank")).toHaveLength(1)
  })

  it("streams a response as it arrives", async () => {
    let finish = () => {}
    server.on("/api/v1/files/file-1/content", (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" }).write(new Uint8Array(10))
      finish = () => response.end(new Uint8Array(20))
    })
    await page.evaluate(() => actions.download())
    await page.waitForFunction(() => actions.progress().length === 1)
    finish()
    expect(await outcome()).toBe("ok: undefined")
    expect((await progress()).map((step) => step.loaded)).toEqual([10, 20])
  })

  it("refuses a long-lived key with a readable message, and sends nothing", async () => {
    server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
    await page.evaluate(() => actions.rerankWithKey("mg_sk_secret", false))
    const sentence = await outcome()
    expect(sentence).toMatch(
      /^LongLivedKeyRefused: This is a long-lived key \(mg_sk_…\)\. It is refused, because everyone who opens the page/
    )
    expect(sentence).toContain("dangerouslyAllowLongLivedKey: true")
    expect(sentence).not.toContain("secret")
    expect(sent("/api/v1/rerank")).toEqual([])

    await page.evaluate(() => actions.rerankWithKey("mg_sk_secret", true))
    expect(await outcome()).toMatch(/^ok/)
    expect(sent("/api/v1/rerank").map((each) => each.authorization)).toEqual(["Bearer mg_sk_secret"])
  })

  it("refuses a long-lived key from the token endpoint", async () => {
    handOutTokens(() => "mg_mk_secret")
    await page.evaluate(() => actions.rerank())
    const sentence = await outcome()
    expect(sentence).toMatch(
      /^TransportError: rerank: nothing was sent, because the credential is not available.* < LongLivedKeyRefused: /
    )
    expect(sentence).not.toContain("secret")
    expect(sent("/api/v1/rerank")).toEqual([])
  })

  it("fails with a readable message if no token is available", async () => {
    server.on("/token", (_, response) => json(response, 403, {}))
    await page.evaluate(() => actions.rerank())
    expect(await outcome()).toContain(
      "TokenUnavailable: No token: /token responded with status 403. Check your server's log."
    )
  })

  it("shares one token among concurrent calls, and replaces a rejected one once", async () => {
    server.on("/api/v1/rerank", (request, response) =>
      request.headers.authorization === "Bearer mg_ek_1"
        ? json(response, 401, envelope(401, "expired key"))
        : json(response, 200, ranking)
    )
    await page.evaluate(() => actions.rerankTimes(5))
    expect(await outcome()).toMatch(/^ok/)
    expect(tokens).toBe(2)
  })

  it("calls succeed although the token endpoint is down for a moment", async () => {
    let asked = 0
    server.on("/token", (request, response) => {
      asked++
      if (asked === 1) request.destroy()
      else if (asked === 2) response.writeHead(503).end()
      else json(response, 200, { key: "mg_ek_late", expires_at: null })
    })
    server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
    await page.evaluate(() => actions.rerankTimes(3))
    expect(await outcome()).toMatch(/^ok/)
    expect(asked).toBe(3)
    expect(sent("/api/v1/rerank").map(({ authorization }) => authorization)).toEqual(Array(3).fill("Bearer mg_ek_late"))
  })

  it("each tab has a token of its own: replacing that of one does not disturb the other", async () => {
    let revoked = ""
    server.on("/api/v1/rerank", (request, response) =>
      request.headers.authorization === revoked
        ? json(response, 401, envelope(401, "this key was deleted"))
        : json(response, 200, ranking)
    )
    const other = await open(browser, server, page.context())
    const call = async (tab: Page) => {
      await tab.evaluate(() => actions.rerankTogether())
      return tab.evaluate(() => actions.outcome())
    }
    expect(await call(page)).toMatch(/^ok/)
    expect(await call(other.page)).toMatch(/^ok/)
    revoked = "Bearer mg_ek_1"
    expect(await Promise.all([call(page), call(other.page)])).toEqual([
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^ok/)
    ])
    expect(tokens).toBe(3)
  })

  it("a token endpoint that returns the rejected token again is an error after one more try", async () => {
    handOutTokens(() => "mg_ek_same")
    server.on("/api/v1/rerank", (_, response) => json(response, 401, envelope(401, "this key was deleted")))
    await page.evaluate(() => actions.rerank())
    expect(await outcome()).toMatch(/^Unauthorized: .*this key was deleted/)
    expect(tokens).toBe(2)
    expect(sent("/api/v1/rerank")).toHaveLength(1)
  })

  it("fails with a readable message if an expired token cannot be replaced", async () => {
    server.on("/api/v1/rerank", (_, response) => json(response, 401, envelope(401, "this key has expired")))
    await page.evaluate(() => actions.rerank())
    expect(await outcome()).toBe("Unauthorized: rerank: 401 this key has expired (request req_test, 2 attempts)")
    expect(tokens).toBe(2)
    expect(sent("/api/v1/rerank")).toHaveLength(2)
  })

  it("reads its settings from <meta> elements or a JSON document", async () => {
    server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
    server.on("/elsewhere/api/v1/rerank", (_, response) => json(response, 200, { ...ranking, id: "elsewhere" }))
    server.on("/settings.json", (_, response) =>
      json(response, 200, { base_url: "/elsewhere/api/v1", token_endpoint: "/token" })
    )
    await page.evaluate(() => actions.rerankFromMeta())
    expect(await outcome()).toMatch(/^ok: .*rr-1/)
    await page.evaluate(() => actions.rerankFromJson("/settings.json"))
    expect(await outcome()).toMatch(/^ok: .*elsewhere/)

    await page.evaluate(() => actions.rerankFromJson("/nowhere.json"))
    expect(await outcome()).toBe(
      "InvalidSettings: The settings in /nowhere.json are not valid: the server responded with status 404."
    )
    await page.evaluate(() => document.querySelector("meta[name^=model-gateway]")?.remove())
    await page.evaluate(() => actions.rerankFromMeta())
    expect(await outcome()).toBe(
      `InvalidSettings: The settings in the page's <meta> elements are not valid: <meta name="model-gateway-token-endpoint"> is missing or empty.`
    )
    server.on("/settings.json", (_, response) => json(response, 200, {}))
    await page.evaluate(() => actions.rerankFromJson("/settings.json"))
    expect(await outcome()).toMatch(/^InvalidSettings: The settings in \/settings.json are not valid: .*token_endpoint/)
  })

  it("accepts a path as base URL, and refuses a wrong one with the corrected form", async () => {
    server.on("/gateway/api/v1/rerank", (_, response) => json(response, 200, ranking))
    await page.evaluate(() => actions.rerankAt("/gateway/api/v1"))
    expect(await outcome()).toMatch(/^ok/)

    server.on("/api/v1/rerank", (_, response) => json(response, 200, ranking))
    for (const [wrong, corrected] of [
      ["/gateway", "/gateway/api/v1"],
      ["/api/v1/rerank", "/api/v1"],
      ["api/v1", "/api/v1"],
      ["./api/v1", "/api/v1"]
    ] as const) {
      await page.evaluate((baseUrl) => actions.rerankAt(baseUrl), wrong)
      expect(await outcome()).toBe(
        "InvalidBaseUrl: The base URL must be an HTTP or HTTPS URL that ends in /api/v1, without credentials, " +
          `query and fragment, such as ${server.origin}${corrected}`
      )
    }
    expect(sent("/api/v1/rerank")).toEqual([])
  })

  it("an unreachable gateway is a transport error", async () => {
    const gone = await serve()
    await gone.close()
    await page.evaluate((origin) => actions.rerankAt(`${origin}/api/v1`), gone.origin)
    // The client retries first, so this waits for the real backoff delays.
    expect(await outcome()).toMatch(/^TransportError: rerank: the connection failed/)
  })

  it("records the microphone, reports its level, and sends the recording with the format's extension", async () => {
    await page.context().grantPermissions(["microphone"])
    let form = ""
    server.on("/api/v1/audio/transcriptions", (request, response) => {
      request.setEncoding("latin1")
      request.on("data", (text: string) => (form += text))
      request.on("end", () => json(response, 200, { text: "beep" }))
    })
    await page.evaluate(() => actions.record())
    const told = await outcome()
    expect(told).toMatch(/^ok: /)
    const result: unknown = JSON.parse(told.slice(4))
    expect(result).toMatchObject({ text: "beep", type: "audio/webm;codecs=opus", filename: "recording.webm" })
    expect(form).toContain(`filename="recording.webm"`)
    // EBML's magic number: the first bytes of every WebM file.
    expect(form).toContain("\x1aE\xdf\xa3")
    const levels = await page.evaluate(() => actions.levels())
    expect(levels.every((level) => level >= 0 && level <= 1)).toBe(true)
    expect(levels.at(-1)).toBeGreaterThan(0.01)
  })

  it("fails with a readable message if the microphone is blocked", async () => {
    await page.evaluate(() => actions.record())
    expect(await outcome()).toMatch(/^RecordingFailed: The microphone is blocked for this page\./)
  })

  it("fails with a readable message that lists the accepted audio formats", async () => {
    await page.evaluate(() => actions.dropped("notes.txt", "text/plain"))
    expect(await outcome()).toBe(
      "UnsupportedAudio: “notes.txt” is not in a format that can be transcribed (text/plain). Use WAV, MP3, FLAC, M4A, OGG, WebM or AAC."
    )
  })
})
