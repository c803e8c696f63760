/** Where callers and providers make the gateway connect, and what providers say. */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { ask, fieldOf, jsonOf } from "../client.ts"
import * as Doubles from "../doubles.ts"
import { unlimited } from "../gateway.ts"
import {
  type Attack,
  maxMillisOf,
  milliseconds,
  pause,
  problemsOf,
  smallRerank,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"

/** The port of the name server, which the gateway knows before the attack starts. */
const nameServerPort = 40_000 + Math.floor(Math.random() * 20_000)

const silentNames: Attack = {
  name: "silent-names",
  title: "16 callbacks to hosts whose name servers do not answer; beside them, reranks of another key at an upstream",
  bound: "the other key: 200 within 1 s",
  settings: { ...unlimited, HOSTILE_NAME_SERVER: `127.0.0.1:${nameServerPort}` },
  // By a name, which has to be looked up for a connection.
  file: (upstream) => Doubles.rankingAt(upstream.replace("127.0.0.1", "localhost")),
  seconds: 120,
  run: async ({ gateway, manage, newKey, upstream }) => {
    let asked = 0
    const nameServer = createSocket("udp4").on("message", () => asked++)
    nameServer.bind(nameServerPort, "127.0.0.1")
    await once(nameServer, "listening")
    try {
      upstream.handle = (call, response) => {
        // The next request needs a connection of its own.
        response.setHeader("connection", "close")
        Doubles.ranking(call, response)
      }
      await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 100 })
      const other = await newKey()
      const small = smallRerank(other.key, "double/rank")
      const alone = await ask(gateway.origin, small)
      const jobs = await Promise.all(
        Array.from({ length: 16 }, (_, at) =>
          ask(gateway.origin, {
            method: "POST",
            path: "/api/v1/videos",
            key: gateway.apiKey,
            body: {
              model: "sandbox/title-card",
              prompt: "tea",
              duration: 1,
              resolution: "480p",
              callback_url: `https://host-${at}.silent.example/`
            }
          })
        )
      )
      const undisturbed = []
      const end = performance.now() + 25_000
      while (performance.now() < end) {
        undisturbed.push(await ask(gateway.origin, small))
        await pause(100)
      }
      return {
        figure:
          `jobs: ${statusesOf(jobs)}; name server: asked ${asked} times; the other key: ${statusesOf(undisturbed)}, ` +
          `${milliseconds(alone.milliseconds)} alone, at most ${milliseconds(maxMillisOf(undisturbed))}`,
        problems: [
          ...problemsOf(jobs, [202]),
          ...problemsOf(undisturbed, [200], 1000).map((problem) => `the other key: ${problem}`)
        ]
      }
    } finally {
      nameServer.close()
    }
  }
}

/** The upstream `replicate` at this URL. */
const videosAt = (url: string): object => ({ upstreams: { replicate: { apiKey: "r8_not-a-real-key", baseUrl: url } } })

/** Submits a job of the upstream, and waits until it is over, or for some seconds. */
const videoOf = async ({ gateway }: Target, prompt: string, seconds: number) => {
  const { apiKey: key, origin } = gateway
  const body = { model: "replicate/bytedance/seedance-1-lite", prompt, duration: 5, resolution: "480p" }
  const id = textOf(jsonOf(await ask(origin, { method: "POST", path: "/api/v1/videos", key, body })), "id")
  const path = `/api/v1/videos/${id}`
  const end = performance.now() + 1000 * seconds
  let status = fieldOf(undefined)
  while (performance.now() < end) {
    status = fieldOf(jsonOf(await ask(origin, { method: "GET", path, key })), "status")
    if (status === "completed" || status === "failed") break
    await pause(200)
  }
  const content = await ask(origin, { method: "GET", path: `${path}/content`, key })
  if (status !== "completed") await ask(origin, { method: "DELETE", path, key })
  return { status, content: content.status === 200 ? content.body.toString() : undefined }
}

const providerLinks: Attack = {
  name: "provider-links",
  title: "a provider of videos returns links to this machine: by address, by name, and behind a redirect",
  bound: "the gateway does not connect there; a link at the provider's own origin is read",
  settings: unlimited,
  file: videosAt,
  run: async (target) => {
    const { double, gateway, manage, upstream } = target
    await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 100 })
    const plain = await double()
    const secure = await double({ tls: true })
    for (const inside of [plain, secure]) {
      inside.handle = (_, response) => response.writeHead(200, { "content-type": "video/mp4" }).end("private")
    }
    const byAddress = plain.url
    const byName = secure.url
    const links = [`${upstream.url}/own`, byAddress, byName, `${upstream.url}/to-address`, `${upstream.url}/to-name`]
    upstream.handle = ({ body, method, path }, response) => {
      if (path === "/own") return void response.writeHead(200, { "content-type": "video/mp4" }).end("own")
      if (path === "/to-address") return void response.writeHead(302, { location: byAddress }).end()
      if (path === "/to-name") return void response.writeHead(302, { location: byName }).end()
      if (method === "POST") {
        const prompt = fieldOf(JSON.parse(body.toString() || "{}"), "input", "prompt")
        return Doubles.answer(response, { id: `link-${String(prompt)}`, status: "starting" }, 201)
      }
      const [, at = ""] = /link-(\d)$/.exec(path) ?? []
      Doubles.answer(response, { id: `link-${at}`, status: "succeeded", output: links[Number(at)] })
    }
    const videos = await Promise.all(links.map((_, at) => videoOf(target, String(at), 10)))
    const reached = plain.calls() + secure.calls()
    return {
      figure: `${reached} requests inside; ${videos.map(({ content, status }) => `${String(status)} ${content ?? "–"}`).join(", ")}`,
      problems: [
        ...(reached > 0 ? [`${reached} requests reached this machine`] : []),
        ...(videos.some(({ content }) => content === "private") ? ["a caller read private content"] : []),
        ...(videos[0]?.content === "own" ? [] : ["the provider's own link was not read"])
      ]
    }
  }
}

const gatewaysKey = "kW4rTz8QpLm2Vx6N"
const callersKey = "Hc7Jq3Zf9Bs5Dy1G"

/** Whether the text has 6 consecutive characters of the secret. */
const hasPartOf = (secret: string, text: string): boolean =>
  Array.from({ length: secret.length - 5 }, (_, at) => secret.slice(at, at + 6)).some((part) => text.includes(part))

const echoedKeys: Attack = {
  name: "echoed-keys",
  title: "a provider repeats parts of the caller's provider key, and of the gateway's, in a 400",
  bound: "400 without 6 consecutive characters of either",
  file: (upstream) => ({ upstreams: { cohere: { apiKey: gatewaysKey, baseUrl: upstream } } }),
  run: async ({ gateway, manage, upstream }) => {
    await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 100 })
    const texts: Array<string> = []
    const answers = []
    for (const own of [false, true]) {
      if (own) await manage("POST", "/byok", { provider: "cohere", key: callersKey })
      for (const key of [gatewaysKey, callersKey]) {
        for (const part of [key.slice(0, 12), key.slice(4, 12), key.slice(-6)]) {
          upstream.handle = Doubles.always({ message: `no document for ${part}, choose another` }, 400)
          const answer = await ask(gateway.origin, smallRerank(gateway.apiKey, "cohere/rerank-v3.5"))
          answers.push(answer)
          // Without a provider key, only the gateway's is in play.
          if (own || key === gatewaysKey) texts.push(answer.body.toString())
        }
      }
    }
    const shown = texts.filter((text) => [gatewaysKey, callersKey].some((key) => hasPartOf(key, text)))
    return {
      figure: `${statusesOf(answers)}; ${shown.length} of ${texts.length} show a part of a key`,
      problems: [
        ...problemsOf(answers, [400]),
        ...(shown.length > 0 ? [`${shown.length} messages show a part of a key`] : [])
      ]
    }
  }
}

const fileTimes: Attack = {
  name: "file-times",
  title: "a provider states times of a caller's file that do not exist",
  bound: "502 in every shape",
  quick: true,
  file: (upstream) => ({ upstreams: { openai: { apiKey: "sk-not-a-real-key", baseUrl: upstream } } }),
  run: async ({ gateway, manage, upstream }) => {
    await manage("POST", "/byok", { provider: "openai", key: "sk-not-a-real-key-either" })
    const answers = []
    for (const created_at of [8.64e12, 253_402_300_800, -62_167_219_201]) {
      upstream.handle = Doubles.always({
        id: "f",
        object: "file",
        filename: "a",
        bytes: 1,
        purpose: "batch",
        created_at
      })
      for (const shape of ["native", "compat_a", "compat_b"]) {
        answers.push(
          await ask(gateway.origin, {
            method: "GET",
            path: "/api/v1/files/f?provider=provider_a",
            key: gateway.apiKey,
            headers: { accept: `application/json; shape=${shape}` }
          })
        )
      }
    }
    return { figure: statusesOf(answers), problems: problemsOf(answers, [502]) }
  }
}

export const outbound: ReadonlyArray<Attack> = [silentNames, providerLinks, echoedKeys, fileTimes]
