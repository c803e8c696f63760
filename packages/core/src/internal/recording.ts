/** Records calls as spans, logs and metrics. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { isPaid } from "../Operation.ts"
import { makeMeters, type Meters } from "./meters.ts"
import type { Call, Observer, Recorder, Retry } from "./observer.ts"

export const make = (): Observer => {
  const meters = makeMeters()
  return {
    call: (call, run) =>
      record(call, meters, (recording) => Effect.onExit(run(recording), (exit) => recording.end(exit))),
    open: (call, run) =>
      record(call, meters, (recording) =>
        run(recording).pipe(
          Effect.onError((cause) => recording.end(Exit.failCause(cause))),
          Effect.map((stream) =>
            stream.pipe(
              Stream.tapCause((cause) => recording.end(Exit.failCause(cause))),
              // A reader that fails or stops early ends the stream. That is no failure of the call.
              Stream.onExit((exit) => recording.end(Exit.hasInterrupts(exit) ? exit : Exit.void))
            )
          )
        )
      )
  }
}

const record = <A, E, R>(call: Call, meters: Meters, run: (recording: Recording) => Effect.Effect<A, E, R>) =>
  Effect.withFiber((fiber) => {
    const traced = fiber.getRef(Tracer.Tracer) !== Tracer.nativeTracer
    if (!traced) return run(new Recording(call, meters, fiber, undefined))
    return Effect.flatMap(Effect.makeSpan(`gateway.${call.operation.identifier}`, { kind: "client" }), (span) =>
      Effect.withParentSpan(run(new Recording(call, meters, fiber, span)), span, { captureStackTrace: false })
    )
  })

class Recording implements Recorder {
  readonly #call: Call
  readonly #meters: Meters
  readonly #fiber: Fiber.Fiber<unknown, unknown>
  readonly #clock: Clock.Clock
  readonly #span: Tracer.Span | undefined
  readonly #model: string | undefined
  readonly #startedAt: bigint
  #attempts = 0
  #hasEnded = false

  constructor(call: Call, meters: Meters, fiber: Fiber.Fiber<unknown, unknown>, span: Tracer.Span | undefined) {
    this.#call = call
    this.#meters = meters
    this.#fiber = fiber
    this.#clock = fiber.getRef(Clock.Clock)
    this.#span = span
    this.#model = modelOf(call.request)
    this.#startedAt = this.#clock.monotonicTimeNanosUnsafe()
    if (span === undefined) return
    this.#set({
      "gen_ai.operation.name": call.operation.identifier,
      "gen_ai.provider.name": gateway,
      "gen_ai.request.model": this.#model,
      ...serverOf(call.baseUrl)
    })
  }

  attempt<E, R>(request: Effect.Effect<HttpClientResponse, E, R>, number: number) {
    this.#attempts = number
    if (this.#span === undefined) return request
    return Effect.annotateSpans(
      Effect.tap(request, ({ headers, status }) =>
        Effect.sync(() => {
          const requestId = headers["x-request-id"]
          this.#set({
            "http.response.status_code": status,
            "http.response.header.x-request-id": requestId === undefined ? undefined : [requestId]
          })
        })
      ),
      { "model_gateway.attempt.number": number, ...(number > 1 ? { [resendCount]: number - 1 } : undefined) }
    )
  }

  retry({ attempt, reason, ...retry }: Retry) {
    const operation = this.#call.operation.identifier
    const wait = Math.round(retry.wait)
    this.#span?.event("retry", this.#clock.currentTimeNanosUnsafe(), { reason: String(reason), wait, attempt })
    return Effect.annotateLogs(
      Effect.logDebug(`${operation}: attempt ${attempt} failed (${reason}), next attempt in ${wait} ms`),
      { operation, reason, wait, attempt }
    )
  }

  /** Only the first end counts. */
  end(exit: Exit.Exit<unknown, unknown>) {
    return Effect.sync(() => {
      if (this.#hasEnded) return
      this.#hasEnded = true
      const errorType = Exit.isSuccess(exit) ? undefined : errorTypeOf(exit.cause)
      const response = Exit.isSuccess(exit) ? exit.value : undefined
      const labels = { operation: this.#call.operation.identifier, model: this.#model, errorType }
      this.#meters.update(this.#fiber.context, labels, {
        seconds: Number(this.#clock.monotonicTimeNanosUnsafe() - this.#startedAt) / 1e9,
        attempts: this.#attempts,
        cost: isPaid(this.#call.operation) ? numberIn(usageOf(response), "cost") : undefined
      })
      if (this.#span === undefined) return
      this.#set({
        "error.type": errorType,
        "model_gateway.attempts": this.#attempts,
        [resendCount]: this.#attempts > 1 ? this.#attempts - 1 : undefined,
        ...attributesOf(response)
      })
      // Only the tag: a message of the service may quote the request, a cause may contain a secret.
      this.#span.end(
        this.#clock.currentTimeNanosUnsafe(),
        errorType === undefined || errorType === interrupted
          ? exit
          : Exit.fail({ name: errorType, message: `${this.#call.operation.identifier} failed: ${errorType}` })
      )
    })
  }

  #set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.#span?.attribute(name, value)
    }
  }
}

/** The provider, as long as no response names the one that served the call. */
const gateway = "model_gateway"

const resendCount = "http.request.resend_count"

interface Attributes {
  readonly [name: string]: string | number | ReadonlyArray<string> | undefined
}

const modelOf = ({ form, json }: Call["request"]): string | undefined => {
  const model = form !== undefined ? form.get("model") : Predicate.hasProperty(json, "model") ? json.model : undefined
  return typeof model === "string" ? model : undefined
}

/** A browser's base URL may be a path at the page's own origin. */
const serverOf = (baseUrl: string): Attributes => {
  if (!URL.canParse(baseUrl)) return {}
  const { hostname, port, protocol } = new URL(baseUrl)
  return {
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)
  }
}

const interrupted = "interrupted"

/** The error's tag. `_OTHER` is the convention's name for all that have none. */
const errorTypeOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return interrupted
  const error = Cause.squash(cause)
  return Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" ? error._tag : "_OTHER"
}

/** What a response says about its generation. Responses of other operations have no usage. */
const usageOf = (response: unknown): object | undefined =>
  Predicate.hasProperty(response, "usage") && Predicate.isObject(response.usage) ? response.usage : undefined

const numberIn = (self: object | undefined, name: string): number | undefined =>
  Predicate.hasProperty(self, name) && typeof self[name] === "number" ? self[name] : undefined

const attributesOf = (response: unknown): Attributes => {
  const usage = usageOf(response)
  if (usage === undefined) return {}
  const text = (name: string): string | undefined =>
    Predicate.hasProperty(response, name) && typeof response[name] === "string" ? response[name] : undefined
  return {
    "gen_ai.response.id": text("id"),
    "gen_ai.response.model": text("model"),
    "gen_ai.usage.input_tokens": numberIn(usage, "input_tokens") ?? numberIn(usage, "total_tokens"),
    "gen_ai.usage.output_tokens": numberIn(usage, "output_tokens"),
    "gen_ai.provider.name": text("provider"),
    "model_gateway.usage.search_units": numberIn(usage, "search_units"),
    "model_gateway.usage.seconds": numberIn(usage, "seconds"),
    "gen_ai.usage.cost": numberIn(usage, "cost")
  }
}
