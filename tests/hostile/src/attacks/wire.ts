/** Bytes and connections that no ordinary client would produce. */
import { Agent } from "node:http"
import { type Answer, ask, converse, type Received, requestBytes } from "../client.ts"
import { unlimited } from "../gateway.ts"
import { type Attack, milliseconds, pause, problemsOf, smallRerank, statusesOf } from "./attack.ts"

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const host = { host: "127.0.0.1" }

const rerankBody = JSON.stringify({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })

const rerankBytes = (key: string, headers: Readonly<Record<string, string>> = host): Buffer =>
  requestBytes(
    "POST",
    "/api/v1/rerank",
    { ...headers, ...bearer(key), "content-type": "application/json", "content-length": String(rerankBody.length) },
    rerankBody
  )

const expectStatuses = (name: string, received: Received, statuses: ReadonlyArray<number>): ReadonlyArray<string> =>
  statuses.every((status, at) => received.statuses[at] === status)
    ? []
    : [`${name}: answered ${received.statuses.join(", ") || "nothing"} (${received.end})`]

const expectEnvelope = (name: string, received: Received): ReadonlyArray<string> => {
  const text = received.bytes.toString("latin1")
  return /x-request-id: req_/i.test(text) && text.includes('"request_id"')
    ? []
    : [`${name}: no envelope with a request id`]
}

const malformedMultipart: Attack = {
  name: "malformed-multipart",
  title: "multipart without a body in its part, on POST /files and POST /audio/transcriptions",
  bound: "400",
  quick: true,
  run: async ({ gateway }) => {
    const forms = [
      '--B\r\nContent-Disposition: form-data; name="model"\r\n\r\n--B--\r\n',
      '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n--B--\r\n',
      "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--\r\n",
      "--B\r\n\r\n\r\n--B--\r\n",
      "--B--\r\n",
      "--B",
      '\r\n--B\r\nContent-Disposition: form-data; name="model"\r\n\r\nunfinished',
      ""
    ]
    const answers: Array<Answer> = []
    for (const path of ["/files", "/audio/transcriptions"]) {
      for (const body of forms) {
        const headers = { "content-type": "multipart/form-data; boundary=B" }
        answers.push(
          await ask(gateway.origin, { method: "POST", path: `/api/v1${path}`, key: gateway.apiKey, headers, body })
        )
      }
    }
    return { figure: statusesOf(answers), problems: problemsOf(answers, [400]) }
  }
}

const garbage: Attack = {
  name: "garbage",
  title: "a valid paid request, followed by bytes that are no HTTP",
  bound: "200 comes first",
  run: async ({ gateway }) => {
    const valid = rerankBytes(gateway.apiKey)
    const received = await converse(gateway.port, [Buffer.concat([valid, Buffer.from("\x00\x01 no HTTP\r\n\r\n")])], {
      patience: 5000
    })
    return {
      figure: `answered ${received.statuses.join(", ")}`,
      problems: expectStatuses("paid request", received, [200])
    }
  }
}

const headers: Attack = {
  name: "host-headers",
  title: "no Host, two Host headers, an unknown Expect",
  bound: "400, 400, 417, each an envelope with a request id",
  run: async ({ gateway }) => {
    const key = gateway.apiKey
    const two = Buffer.from(
      `GET /api/v1/key HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: example.com\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`
    )
    const cases = [
      {
        name: "no Host",
        status: 400,
        bytes: requestBytes("GET", "/api/v1/key", { ...bearer(key), connection: "close" })
      },
      { name: "two Host", status: 400, bytes: two },
      {
        name: "Expect",
        status: 417,
        bytes: requestBytes("GET", "/api/v1/key", { ...host, ...bearer(key), expect: "tea", connection: "close" })
      }
    ]
    const seen: Array<string> = []
    const problems: Array<string> = []
    for (const { bytes, name, status } of cases) {
      const received = await converse(gateway.port, [bytes], { patience: 5000 })
      seen.push(`${name}: ${received.statuses.join(", ") || "nothing"}`)
      problems.push(...expectStatuses(name, received, [status]), ...expectEnvelope(name, received))
    }
    return { figure: seen.join("; "), problems }
  }
}

const paths: Attack = {
  name: "paths",
  title: "paths in other case, with doubled or trailing slashes",
  bound: "404 each, or 400",
  run: async ({ gateway }) => {
    const spellings = [
      "/api/v1/GUARDRAILS",
      "/API/V1/guardrails",
      "/api/v1/guardrails/",
      "/api/v1/GUARDRAILS//",
      "/api/v1//guardrails",
      "//api/v1/guardrails",
      "/api//v1/keys"
    ]
    const answers = await Promise.all(
      spellings.map((path) => ask(gateway.origin, { method: "GET", path, key: gateway.managementKey }))
    )
    return { figure: statusesOf(answers), problems: problemsOf(answers, [400, 404]) }
  }
}

const slowBody: Attack = {
  name: "slow-body",
  title: "16 bodies that arrive at 10 bytes a second",
  bound: "ended within 45 s, with 408 or by closing",
  run: async ({ gateway }) => {
    const head = requestBytes("POST", "/api/v1/rerank", {
      ...host,
      ...bearer(gateway.apiKey),
      "content-type": "application/json",
      "content-length": "1000000"
    })
    const drops = Array.from({ length: 45 }, () => ["0123456789", 1000] as const).flat()
    const received = await Promise.all(
      Array.from({ length: 16 }, () => converse(gateway.port, [head, ...drops], { patience: 46_000 }))
    )
    const open = received.filter(({ end }) => end === "open").length
    const statuses = new Set(received.flatMap(({ statuses }) => statuses))
    const longest = Math.max(...received.map((one) => one.milliseconds))
    return {
      figure: `${open} still open after ${milliseconds(longest)}; answered ${[...statuses].join(", ") || "nothing"}`,
      problems: [
        ...(open > 0 ? [`${open} bodies were not ended`] : []),
        ...[...statuses].filter((status) => status !== 408).map((status) => `answered ${status}`)
      ]
    }
  }
}

const halfClose: Attack = {
  name: "half-close",
  title: "a sender that closes its side after the request",
  bound: "200",
  run: async ({ gateway }) => {
    const received = await converse(gateway.port, [rerankBytes(gateway.apiKey)], { patience: 5000, halfClose: true })
    return {
      figure: `answered ${received.statuses.join(", ") || "nothing"} (${received.end})`,
      problems: expectStatuses("half-closed", received, [200])
    }
  }
}

const sigterm: Attack = {
  name: "sigterm",
  title: "SIGTERM under 128 busy keep-alive connections",
  bound: "no connection is reset",
  settings: unlimited,
  skips: { neighbor: "the attack ends the process" },
  run: async ({ gateway }) => {
    const answers: Array<Answer> = []
    const lane = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (;;) {
        const answer = await ask(gateway.origin, smallRerank(gateway.apiKey), agent)
        answers.push(answer)
        if (answer.status === 0) return agent.destroy()
      }
    }
    const lanes = Promise.all(Array.from({ length: 128 }, lane))
    await pause(1500)
    const signaled = performance.now()
    gateway.signal("SIGTERM")
    await Promise.all([lanes, gateway.exited])
    const took = performance.now() - signaled
    // A connection that was refused, or that failed before anything was sent, was never busy.
    const reset = answers.filter(({ failure }) => failure !== undefined && failure !== "ECONNREFUSED")
    const served = answers.filter(({ status }) => status > 0)
    return {
      figure: `${statusesOf(served)}; ${reset.length} connections reset; ended ${milliseconds(took)} after the signal`,
      problems: [
        ...problemsOf(served, [200, 503]),
        ...(reset.length > 0 ? [`${reset.length} connections were reset`] : [])
      ]
    }
  }
}

export const wire: ReadonlyArray<Attack> = [malformedMultipart, garbage, headers, paths, slowBody, halfClose, sigterm]
