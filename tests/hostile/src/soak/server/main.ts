/** The server of the soak: the service behind faults. It also restarts now and then. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import * as Random from "../../fuzz/random.ts"
import type { ServerListening, ServerOptions, ServerReport } from "../messages.ts"
import { type Exchange, receive, send } from "./exchange.ts"
import * as Faults from "./faults.ts"
import * as Service from "./service.ts"

const { limits, seed, uptime } = JSON.parse(process.argv[2] ?? "") as ServerOptions

const choose = Faults.make(limits)
const service = Service.make()
const sockets = new Set<Socket>()
const faults: Record<string, number> = {}
const uploads: Record<string, number> = {}
let requests = 0
let restarts = 0

const count = ({ name }: { readonly name: string }): void => void (faults[name] = (faults[name] ?? 0) + 1)

const recordUpload = (head: Buffer, milliseconds: number): void => {
  const call = Service.textIn(head, "user") ?? Service.textIn(head, "purpose")
  if (call !== undefined) uploads[call] = (uploads[call] ?? 0) + milliseconds
}

const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const random = Random.make(seed, ++requests)
  const exchange: Exchange = { request, response, random, url: new URL(request.url ?? "/", "http://soak") }
  const obstacle = choose.obstacle(random, exchange.url.pathname.endsWith("/content"))
  if (obstacle !== undefined) count(obstacle)
  if (obstacle?.isEarly === true) return obstacle.run(exchange)
  const isUpload = request.headers["content-type"]?.startsWith("multipart/") === true
  const disturbance = isUpload ? choose.disturbance(random) : undefined
  if (disturbance !== undefined) count(disturbance)
  const body = await receive(exchange, disturbance, isUpload ? recordUpload : () => {})
  if (body === undefined) return
  if (obstacle !== undefined) return obstacle.run(exchange)
  const answer = await service.answer(exchange, body)
  const damage = choose.damage(random, answer.headers["content-type"] === "application/json")
  if (damage === undefined) return send(exchange, answer)
  count(damage)
  return damage.run(exchange, answer)
}

const server = createServer((request, response) => {
  // The client may go at any time.
  request.on("error", () => {})
  response.on("error", () => {})
  handle(request, response).catch((error: unknown) => {
    if (!request.socket.destroyed) service.report().problems.push(String(error))
    request.socket.destroy()
  })
})
server.keepAliveTimeout = 4000
server.on("connection", (socket) => {
  sockets.add(socket)
  socket.on("error", () => {})
  socket.once("close", () => sockets.delete(socket))
})

/** Closes all connections and refuses new ones for some seconds. */
const restart = async (port: number, milliseconds: number): Promise<void> => {
  restarts++
  server.close()
  for (const socket of sockets) socket.resetAndDestroy()
  await sleep(milliseconds)
  server.listen(port, "127.0.0.1")
}

const restartNowAndThen = async (port: number): Promise<void> => {
  const random = Random.make(seed, 0)
  for (;;) {
    await sleep(uptime * (0.5 + random.fraction()))
    await restart(port, 200 + random.below(3000))
  }
}

process.on("message", () => {
  const report: ServerReport = { requests, uploads, faults, restarts, sockets: sockets.size, ...service.report() }
  process.send?.(report)
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address === null || typeof address === "string" || restarts > 0) return
  process.once("disconnect", () => process.exit())
  const listening: ServerListening = { port: address.port }
  process.send?.(listening)
  void restartNowAndThen(address.port)
})
