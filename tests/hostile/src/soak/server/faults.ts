/** What goes wrong between the client and the service. */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import type { Random } from "../../fuzz/random.ts"
import type { Limits } from "../messages.ts"
import {
  type Answer,
  breakConnection,
  type Disturbance,
  errorAnswer,
  type Exchange,
  hang,
  jsonAnswer,
  send,
  sendPart
} from "./exchange.ts"

/** In place of the service, which does not see the request. */
export interface Obstacle {
  readonly name: string
  readonly weight: number
  /** Whether it answers before the body of the request is read. */
  readonly isEarly?: boolean
  /** Whether a client cannot tell it from a download. */
  readonly looksLikeBytes?: boolean
  readonly run: (exchange: Exchange) => void | Promise<void>
}

/** Between the answer of the service and the client. */
export interface Damage {
  readonly name: string
  readonly weight: number
  readonly run: (exchange: Exchange, answer: Answer) => void | Promise<void>
}

const html = (status: number): Answer => ({
  status,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: Buffer.from(`<!doctype html><title>${status}</title><p>This page is from a proxy.</p>`)
})

const redirect = (location: string): Answer => ({ status: 307, headers: { location }, body: Buffer.alloc(0) })

const answering = (name: string, weight: number, answer: (random: Random) => Answer): Obstacle => ({
  name,
  weight,
  run: (exchange) => send(exchange, answer(exchange.random))
})

const limited = (kind: string, weight: number, retryAfter: (random: Random) => string | undefined): Obstacle =>
  answering(`429, Retry-After ${kind}`, weight, (random) => {
    const text = retryAfter(random)
    return errorAnswer(429, "rate limit exceeded", text === undefined ? {} : { "retry-after": text })
  })

const obstaclesOf = (forLong: number): ReadonlyArray<Obstacle> => [
  limited("none", 2, () => undefined),
  limited("small", 2, () => "1"),
  limited("zero", 2, () => "0"),
  limited("huge", 1, () => "24615"),
  limited("a date", 1, () => new Date(Date.now() + 1000).toUTCString()),
  limited("malformed", 2, (random) => random.pick(["soon", "-3", "1e3", "3.5", "", "99999999999999999999", "0x10"])),
  answering("503", 3, (random) => errorAnswer(503, "unavailable", random.chance(0.5) ? { "retry-after": "1" } : {})),
  answering("408", 2, () => errorAnswer(408, "the request took too long", { connection: "close" })),
  answering("502", 2, () => errorAnswer(502, "provider returned error")),
  answering("401", 1, () => errorAnswer(401, "the token has expired")),
  answering("redirect to another origin", 0.5, () => redirect("https://elsewhere.example/api/v1/key")),
  {
    name: "redirect",
    weight: 2,
    run: (exchange) => send(exchange, redirect(`${exchange.url.pathname}${exchange.url.search}`))
  },
  answering("500", 1, () => errorAnswer(500, "internal server error")),
  { ...answering("HTML with 200", 1, () => html(200)), looksLikeBytes: true },
  answering("HTML with 500", 1, () => html(500)),
  answering("HTML with 503", 1, () => html(503)),
  { ...answering("wrong JSON instead of an answer", 1, () => jsonAnswer(200, { status: "ok" })), looksLikeBytes: true },
  { name: "early reset", weight: 3, isEarly: true, run: breakConnection },
  {
    name: "answer before the upload ended",
    weight: 2,
    isEarly: true,
    run: async (exchange) => {
      send(exchange, errorAnswer(exchange.random.pick([429, 503]), "busy", { connection: "close" }))
      await hang(exchange, 200)
    }
  },
  { name: "stalled before the upload", weight: 1, isEarly: true, run: (exchange) => hang(exchange, forLong) }
]

/** What happens to the body of a request while it is read. */
const disturbancesOf = (forLong: number): ReadonlyArray<Disturbance> => [
  {
    name: "reset during the upload",
    weight: 2,
    onBytes: async (exchange, fraction) => {
      if (fraction < 0.3) return true
      breakConnection(exchange)
      return false
    }
  },
  {
    name: "stalled upload",
    weight: 1,
    onBytes: async (exchange, fraction) => {
      if (fraction < 0.2 || fraction === 1) return true
      await hang(exchange, forLong)
      return false
    }
  },
  {
    name: "slow upload",
    weight: 3,
    onBytes: async ({ random }) => {
      await sleep(random.below(60))
      return true
    }
  }
]

const compressed = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }

/** For answers that are JSON. */
const jsonDamages: ReadonlyArray<Damage> = [
  { name: "half JSON", weight: 1, run: (exchange, answer) => send(exchange, half(answer)) },
  {
    name: "wrong JSON",
    weight: 1,
    run: (exchange, answer) => send(exchange, { ...answer, body: Buffer.from(`{"results":[7],"data":[]}`) })
  },
  { name: "HTML instead of an answer", weight: 1, run: (exchange) => send(exchange, html(200)) },
  { name: "502 after the work", weight: 2, run: (exchange) => send(exchange, html(502)) },
  { name: "500 after the work", weight: 1, run: (exchange) => send(exchange, html(500)) }
]

const half = (answer: Answer): Answer => ({ ...answer, body: answer.body.subarray(0, answer.body.length / 2) })

/** For all answers. */
const anyDamagesOf = (limits: Limits, forLong: number): ReadonlyArray<Damage> => [
  { name: "stalled head", weight: 1, run: (exchange) => hang(exchange, forLong) },
  {
    name: "slow head",
    weight: 2,
    run: async (exchange, answer) => {
      await sleep(exchange.random.below(1.2 * limits.attempt))
      send(exchange, answer)
    }
  },
  {
    name: "stalled body",
    weight: 1,
    run: (exchange, answer) => {
      sendPart(exchange, answer, exchange.random.fraction())
      return hang(exchange, forLong)
    }
  },
  {
    name: "cut body",
    weight: 4,
    run: async (exchange, answer) => {
      sendPart(exchange, answer, exchange.random.fraction())
      await sleep(exchange.random.below(20))
      breakConnection(exchange)
    }
  },
  {
    name: "cut body of unknown length",
    weight: 2,
    run: async (exchange, { body, headers, status }) => {
      exchange.response.writeHead(status, headers)
      exchange.response.write(body.subarray(0, body.length * exchange.random.fraction()))
      await sleep(exchange.random.below(20))
      breakConnection(exchange)
    }
  },
  { name: "lost answer", weight: 3, run: breakConnection },
  {
    name: "slow body",
    weight: 2,
    run: async (exchange, { body, headers, status }) => {
      exchange.response.writeHead(status, { ...headers, "content-length": body.length })
      const step = Math.max(1, Math.ceil(body.length / 8))
      for (let at = 0; at < body.length && !exchange.request.socket.destroyed; at += step) {
        exchange.response.write(body.subarray(at, at + step))
        await sleep(exchange.random.below(100))
      }
      exchange.response.end()
    }
  },
  {
    name: "informational answers",
    weight: 3,
    run: (exchange, answer) => {
      // A response has no socket until the one before it on the connection is finished. Node would
      // write these after its head then, as a part of its body.
      if (exchange.response.socket !== null) {
        exchange.response.writeProcessing()
        exchange.response.writeEarlyHints({ link: "</style.css>; rel=preload" })
      }
      send(exchange, answer)
    }
  },
  {
    name: "connection ended after the answer",
    weight: 3,
    run: async (exchange, answer) => {
      send(exchange, answer)
      await once(exchange.response, "close")
      if (exchange.random.chance(0.5)) await sleep(exchange.random.below(30))
      if (exchange.random.chance(0.5)) exchange.request.socket.end()
      else breakConnection(exchange)
    }
  },
  {
    name: "connection: close",
    weight: 2,
    run: (exchange, answer) => send(exchange, { ...answer, headers: { ...answer.headers, connection: "close" } })
  }
]

/** Encodings and the like, which no client may take for a failure. */
const encodings: ReadonlyArray<Damage> = [
  {
    name: "byte order mark",
    weight: 1,
    run: (exchange, answer) => send(exchange, { ...answer, body: Buffer.concat([Buffer.from("\ufeff"), answer.body]) })
  },
  {
    name: "compressed answer",
    weight: 4,
    run: (exchange, answer) => {
      const encoding = exchange.random.pick(["gzip", "deflate", "br"] as const)
      const accepts = exchange.request.headers["accept-encoding"]?.includes(encoding) === true
      if (!accepts) return send(exchange, answer)
      const headers = { ...answer.headers, "content-encoding": encoding }
      send(exchange, { ...answer, headers, body: compressed[encoding](answer.body) })
    }
  }
]

/** A random choice by weight. */
const choose = <A extends { readonly weight: number }>(random: Random, from: ReadonlyArray<A>): A | undefined => {
  let at = random.fraction() * from.reduce((sum, { weight }) => sum + weight, 0)
  return from.find(({ weight }) => (at -= weight) < 0)
}

/** How often a request meets a fault of each kind. */
const chances = { obstacle: 0.14, disturbance: 0.15, damage: 0.25 }

/** In milliseconds: longer than any call of the client. */
export const stallMillis = ({ deadline }: Limits): number => 2 * deadline

/** The faults for a client with these limits. Each function chooses one, or undefined for none. */
export const make = (limits: Limits) => {
  const forLong = stallMillis(limits)
  const obstacles = obstaclesOf(forLong)
  const obstaclesOfDownloads = obstacles.filter(({ looksLikeBytes }) => looksLikeBytes !== true)
  const disturbances = disturbancesOf(forLong)
  const anyDamages = anyDamagesOf(limits, forLong)
  const allDamages = [...jsonDamages, ...anyDamages, ...encodings]
  return {
    obstacle: (random: Random, isDownload: boolean): Obstacle | undefined =>
      random.chance(chances.obstacle) ? choose(random, isDownload ? obstaclesOfDownloads : obstacles) : undefined,
    disturbance: (random: Random): Disturbance | undefined =>
      random.chance(chances.disturbance) ? choose(random, disturbances) : undefined,
    damage: (random: Random, isJson: boolean): Damage | undefined =>
      random.chance(chances.damage) ? choose(random, isJson ? allDamages : anyDamages) : undefined
  }
}
