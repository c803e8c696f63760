/** What the examples of web frameworks have in common, tested through their routes. */
import { DtmfTone } from "@model-gateway/sandbox"
import type { Running } from "@model-gateway/test-services/GatewayProcess"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { createServer } from "node:tls"
import { expect, inject, it, onTestFinished } from "vitest"

export interface WebServer extends Running {
  readonly origin: string
}

const fixture = (name: string) =>
  readFileSync(new URL(`../../../apps/gateway/test/fixtures/receiver.${name}`, import.meta.url))

/** The address of a server behind a proxy with TLS, which webhooks need. Ends with the test. */
export const secured = async (origin: string): Promise<string> => {
  const port = Number(new URL(origin).port)
  const proxy = createServer({ cert: fixture("crt"), key: fixture("key") }, (socket) => {
    const inner = connect(port, "127.0.0.1")
    for (const one of [socket, inner]) one.on("error", () => socket.destroy(inner.destroy().errored ?? undefined))
    socket.pipe(inner).pipe(socket)
  })
  proxy.listen(0, "localhost")
  await once(proxy, "listening")
  onTestFinished(() => void proxy.close())
  const address = proxy.address()
  return `https://localhost:${typeof address === "object" ? address?.port : ""}`
}

/** Submits a video whose webhook goes to this URL, and cancels it, which ends it at once. */
const cancelVideo = async (callback_url: string): Promise<string> => {
  const { key, origin } = inject("gateway")
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const body = JSON.stringify({ model: "sandbox/title-card", prompt: "Dawn", duration: 1, callback_url })
  const submitted = await fetch(`${origin}/api/v1/videos`, { method: "POST", headers, body })
  const [id = ""] = /video_\w+/.exec(await submitted.text()) ?? []
  await fetch(`${origin}/api/v1/videos/${id}/cancel`, { method: "POST", headers })
  return id
}

const uploadForm = (file: Blob | string): FormData => {
  const form = new FormData()
  form.append("file", file)
  return form
}

export const itServes = (server: () => WebServer): void => {
  const get = (path: string) => fetch(`${server().origin}${path}`)
  const post = (path: string, body: FormData | string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${server().origin}${path}`, { method: "POST", body, headers })
  const json = async (response: Response): Promise<unknown> => response.json()

  it("reranks", async () => {
    const response = await get("/api/search?q=close%20account")
    expect([response.status, await json(response)]).toEqual([200, ["Close your account", expect.any(String)]])
  })

  it("transcribes an upload", async () => {
    const audio = new File([DtmfTone.wav("555 0199")], "call.wav", { type: "audio/wav" })
    const response = await post("/api/transcripts", uploadForm(audio))
    expect([response.status, await json(response)]).toEqual([200, { text: "555 0199" }])
  })

  it("answers an upload without a file as a mistake of its caller", async () => {
    const response = await post("/api/transcripts", uploadForm("no file"))
    const error = "invalid request parameters: file: the form has no such file"
    expect([response.status, await json(response)]).toEqual([400, { error }])
  })

  it("receives the gateway's webhook, and no other one", async () => {
    const id = await cancelVideo(`${await secured(server().origin)}/api/webhooks`)
    await server().prints(new RegExp(`video.cancelled ${id}`))
    const forged = await post("/api/webhooks", JSON.stringify({ type: "video.completed", data: { id } }), {
      "content-type": "application/json",
      "webhook-id": "evt_1",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": `v1,${btoa("forged")}`
    })
    expect([forged.status, await json(forged)]).toEqual([400, { error: "No signature matches the body and a secret." }])
  })

  it("answers errors of the gateway with a status that its caller understands", async () => {
    const limited = await get("/api/search?q=a&model=sandbox/status-429")
    expect([limited.status, await json(limited)]).toEqual([429, { error: "rate limit exceeded (simulated)" }])
    expect(limited.headers.get("retry-after")).toBe("1")
    expect(limited.headers.get("x-request-id")).toMatch(/^req_/)
    // A 402 of the gateway is a problem of this server, not of its caller.
    const poor = await get("/api/search?q=a&model=sandbox/status-402")
    expect([poor.status, await json(poor)]).toEqual([500, { error: "The request failed." }])
    expect(poor.headers.get("x-request-id")).toMatch(/^req_/)
  })

  it("answers an unknown path as the framework does", async () => {
    expect((await get("/api/none")).status).toBe(404)
  })
}
