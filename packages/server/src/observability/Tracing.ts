/**
 * Traces of the service: one trace goes through the client, the request, the calls of providers, the
 * worker of a video job and its webhook.
 *
 * The program that runs the service gives it a tracer. Without one, nothing here costs anything.
 * {@link guarded} decides which spans are sent, and that no span has contents, secrets, or URLs.
 */
import { Cause, Context, Effect, Exit, Option, Tracer } from "effect"
import { Headers } from "effect/http"
import * as HttpTraceContext from "effect/http/HttpTraceContext"

/** Which traces are sent. */
export interface Sampling {
  /** Whether a trace that the caller began is sent exactly if the caller sends it. */
  readonly followsCaller: boolean
  /** The share of all other traces, from 0 to 1. */
  readonly ratio: number
}

/** The attributes that are sent. All others may have contents, secrets or addresses. */
const allowed = new Set([
  "error.type",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "server.address",
  "server.port"
])

const isAllowed = (name: string): boolean =>
  allowed.has(name) || name.startsWith("gen_ai.") || name.startsWith("model_gateway.")

/** 52 bits, which a number holds exactly. */
const digits = 13

const isWithin = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-digits), 16) / 16 ** digits < ratio

/** What is left of an error: its name. A message or a stack may quote the request. */
const nameOnly = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const reason = exit.cause.reasons.find(({ _tag }) => _tag !== "Interrupt")
  const error: unknown = reason?._tag === "Fail" ? reason.error : reason?._tag === "Die" ? reason.defect : undefined
  const found =
    typeof error === "object" && error !== null
      ? "_tag" in error
        ? error._tag
        : "name" in error
          ? error.name
          : undefined
      : undefined
  const name = typeof found === "string" ? found : "Error"
  return Exit.fail({ name, message: name })
}

/** A span that sends what is allowed, if it is sent at all. */
class GuardedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly #inner: Tracer.Span
  readonly sampled: boolean

  constructor(inner: Tracer.Span, sampled: boolean) {
    this.#inner = inner
    this.sampled = sampled
  }

  get name() {
    return this.#inner.name
  }
  get spanId() {
    return this.#inner.spanId
  }
  get traceId() {
    return this.#inner.traceId
  }
  get parent() {
    return this.#inner.parent
  }
  get annotations() {
    return this.#inner.annotations
  }
  get status() {
    return this.#inner.status
  }
  get attributes() {
    return this.#inner.attributes
  }
  get links() {
    return this.#inner.links
  }
  get kind() {
    return this.#inner.kind
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>) {
    if (this.sampled) this.#inner.end(endTime, nameOnly(exit))
  }
  attribute(name: string, value: unknown) {
    if (this.sampled && isAllowed(name)) this.#inner.attribute(name, value)
  }
  event() {}
  addLinks(links: ReadonlyArray<Tracer.SpanLink>) {
    this.#inner.addLinks(links)
  }
}

/** A span that is not sent, and whose children are those of its parent. */
class Transparent extends GuardedSpan {
  readonly #parent: Tracer.Span

  constructor(inner: Tracer.Span, parent: Tracer.Span) {
    super(inner, parent.sampled)
    this.#parent = parent
  }

  override get spanId() {
    return this.#parent.spanId
  }
  override end() {}
  override attribute() {}
}

/** A statement of SQL, of which each request has several. */
const isStatement = (name: string): boolean => name.startsWith("sql.")

/**
 * Sends the spans of requests, jobs and webhooks to the tracer, without what must not leave the
 * service. Background work, such as looking for the next job, has no spans.
 */
export const guarded = (tracer: Tracer.Tracer, { followsCaller, ratio }: Sampling): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const inner = tracer.span({ ...options, sampled: true })
      const parent = Option.getOrUndefined(options.parent)
      if (parent === undefined) {
        return new GuardedSpan(inner, options.kind === "server" && isWithin(inner.traceId, ratio))
      }
      if (parent._tag === "Span" && isStatement(options.name)) return new Transparent(inner, parent)
      const follows = parent._tag === "Span" || followsCaller || options.kind === "consumer"
      return new GuardedSpan(inner, follows ? parent.sampled : isWithin(inner.traceId, ratio))
    }
  })

const isOff = (tracer: Tracer.Tracer): boolean => tracer === Tracer.nativeTracer

/** Adds an attribute to the span of the request in the context, if it has one. */
export const annotateUnsafe = (context: Context.Context<never>, name: string, value: string): void => {
  const span = Context.getOrUndefined(context, Tracer.ParentSpan)
  if (span?._tag === "Span") span.attribute(name, value)
}

/**
 * Makes and runs the effect in a span of its own. Without a tracer in the context, it is the effect
 * itself.
 */
export const within = <A, E, R>(
  context: Context.Context<never>,
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  effect: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  isOff(Context.get(context, Tracer.Tracer))
    ? effect()
    : Effect.useSpan(name, { attributes }, (span) =>
        Effect.provideService(Effect.suspend(effect), Tracer.ParentSpan, span)
      )

/**
 * The current span as a `traceparent`, for work that another process continues later. Null without
 * a tracer.
 */
export const current: Effect.Effect<string | null> = Effect.withFiber((fiber) => {
  if (isOff(fiber.getRef(Tracer.Tracer))) return Effect.succeed(null)
  const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
  if (span === undefined) return Effect.succeed(null)
  // B3 has trace ids of 64 bits too.
  const traceId = span.traceId.padStart(32, "0")
  return Effect.succeed(`00-${traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`)
})

/** Continues the trace of a `traceparent` with work in a span of its own. */
export const continued = <A, E, R>(
  traceParent: string | null,
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    if (traceParent === null || isOff(fiber.getRef(Tracer.Tracer))) return effect
    const parent = Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromInput({ traceparent: traceParent })))
    return parent === undefined
      ? effect
      : Effect.useSpan(name, { parent, kind: "consumer", attributes }, (span) =>
          Effect.provideService(effect, Tracer.ParentSpan, span)
        )
  })
