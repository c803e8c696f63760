/**
 * Loaded into the gateway before its own code, while it is filled: gives it a clock that the filling
 * process moves. In between, the clock runs `speed` times as fast as the machine's. Timers stay as
 * they are.
 */
const machineNanos = process.hrtime.bigint.bind(process.hrtime)

/** What the filling process sends: since when the clock has a time, and how fast it goes on. */
export interface Move {
  /** Milliseconds since the epoch. An earlier time than the clock's is ignored. */
  readonly time: number
  readonly speed: number
}

const isMove = (message: unknown): message is Move =>
  typeof message === "object" && message !== null && "time" in message && "speed" in message

const first: unknown = JSON.parse(process.env["FILLED_CLOCK"] ?? "null")
let { speed, time } = isMove(first) ? first : { speed: 1, time: Date.now() }
let since = machineNanos()

/** In milliseconds, with fractions. */
const now = (): number => time + (Number(machineNanos() - since) / 1e6) * speed

Date.now = () => Math.floor(now())
// Durations and the log's dates of the service follow too, so that a request takes as long as it
// seems.
process.hrtime.bigint = () => BigInt(Math.floor(now() * 1000)) * 1000n

process.on("message", (message) => {
  if (!isMove(message)) return
  time = Math.max(now(), message.time)
  since = machineNanos()
  speed = message.speed
  process.send?.("moved")
})
// A gateway must not outlive the process that fills it, nor be kept from ending by its channel.
process.once("disconnect", () => process.exit())
process.channel?.unref()
