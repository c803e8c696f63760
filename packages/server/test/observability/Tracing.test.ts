/** Which spans reach the tracer, and what is in them. */
import { expect, it } from "@effect/vitest"
import { Cause, type Context, Effect, Exit, Tracer } from "effect"
import * as Tracing from "../../src/observability/Tracing.ts"

/** The spans that were ended, of a tracer without a guard. */
const collecting = () => {
  const ended: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const end = span.end.bind(span)
      span.end = (time, exit) => {
        end(time, exit)
        ended.push(span)
      }
      return span
    }
  })
  return { ended, tracer }
}

const everything = { followsCaller: true, ratio: 1 }

const run = <A, E>(effect: Effect.Effect<A, E>, sampling: Tracing.Sampling = everything) =>
  Effect.suspend(() => {
    const { ended, tracer } = collecting()
    return Effect.as(
      Effect.exit(Effect.provideService(effect, Tracer.Tracer, Tracing.guarded(tracer, sampling))),
      ended
    )
  })

const request = <A, E>(effect: Effect.Effect<A, E>, parent?: Tracer.AnySpan) =>
  Effect.useSpan("rerank", { kind: "server", ...(parent === undefined ? {} : { parent }) }, (span) =>
    Effect.provideService(effect, Tracer.ParentSpan, span)
  )

const caller = (sampled: boolean) =>
  Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled })

it.effect("a span has no attribute that is not known to be harmless, and no message of an error", () =>
  Effect.gen(function* () {
    const failing = Effect.fail(Object.assign(new Error("the secret text"), { _tag: "Refused" }))
    const attributes = {
      "url.full": "https://a.example/secret",
      "http.route": "/api/v1/rerank",
      "gen_ai.request.model": "m"
    }
    const [inner] = yield* run(
      request(
        Effect.contextWith((context: Context.Context<never>) =>
          Tracing.within(context, "attempt", attributes, () => failing)
        )
      )
    )
    expect(inner?.name).toBe("attempt")
    expect(Object.fromEntries(inner?.attributes ?? [])).toEqual({
      "http.route": "/api/v1/rerank",
      "gen_ai.request.model": "m"
    })
    const { status } = inner ?? {}
    expect(status?._tag === "Ended" ? status.exit : undefined).toEqual(
      Exit.fail({ name: "Refused", message: "Refused" })
    )
  })
)

it.effect("the message of an error is not sent either if the work was interrupted as well", () =>
  Effect.gen(function* () {
    const cause = Cause.combine(Cause.interrupt(1), Cause.die(new TypeError("the secret text")))
    const exitOf = ([span]: ReadonlyArray<Tracer.NativeSpan>) =>
      span?.status._tag === "Ended" ? span.status.exit : undefined
    const mixed = exitOf(yield* run(request(Effect.failCause(cause))))
    expect(mixed).toEqual(Exit.fail({ name: "TypeError", message: "TypeError" }))
    const interrupted = exitOf(yield* run(request(Effect.interrupt)))
    expect(interrupted !== undefined && Exit.hasInterrupts(interrupted)).toBe(true)
  })
)

it.effect("statements of SQL have no spans, and what is within them is below the span around them", () =>
  Effect.gen(function* () {
    const [below, outer, ...others] = yield* run(
      request(Effect.withSpan(Effect.withSpan(Effect.void, "below"), "sql.transaction"))
    )
    expect([below?.name, outer?.name, others]).toEqual(["below", "rerank", []])
    const parent = below?.parent
    expect(parent?._tag === "Some" ? parent.value.spanId : undefined).toBe(outer?.spanId)
  })
)

it.effect("background work has no spans", () =>
  Effect.gen(function* () {
    expect(yield* run(Effect.withSpan(Effect.withSpan(Effect.void, "inner"), "purge"))).toEqual([])
  })
)

it.effect("a trace of the caller is sent if the caller sends it, unless the sampler decides by itself", () =>
  Effect.gen(function* () {
    const sent = (sampling: Tracing.Sampling, parent: Tracer.AnySpan | undefined) =>
      Effect.map(run(request(Effect.void, parent), sampling), (spans) => spans.length)
    expect(yield* sent({ followsCaller: true, ratio: 0 }, caller(true))).toBe(1)
    expect(yield* sent({ followsCaller: true, ratio: 1 }, caller(false))).toBe(0)
    expect(yield* sent({ followsCaller: true, ratio: 0 }, undefined)).toBe(0)
    expect(yield* sent({ followsCaller: false, ratio: 0 }, caller(true))).toBe(0)
    expect(yield* sent({ followsCaller: false, ratio: 1 }, caller(false))).toBe(1)
  })
)

it.effect("work that is continued later is in the trace in which it was submitted", () =>
  Effect.gen(function* () {
    const { ended, tracer } = collecting()
    const traced = Effect.provideService(Tracer.Tracer, Tracing.guarded(tracer, everything))
    const traceParent = yield* traced(request(Tracing.current, caller(true)))
    yield* traced(Tracing.continued(traceParent, "video job", {}, Effect.void))
    const [submitted, continued] = ended
    expect(continued).toMatchObject({ name: "video job", traceId: "0af7651916cd43dd8448eb211c80319c" })
    expect(continued?.parent).toMatchObject({ value: { spanId: submitted?.spanId } })
    // B3 has trace ids of 64 bits too.
    const short = Tracer.externalSpan({ traceId: "8448eb211c80319c", spanId: "b7ad6b7169203331", sampled: true })
    yield* traced(Tracing.continued(yield* traced(request(Tracing.current, short)), "video job", {}, Effect.void))
    expect(ended.at(-1)).toMatchObject({ name: "video job", traceId: "00000000000000008448eb211c80319c" })
    // Without a tracer nothing is stored, and nothing is continued.
    expect(yield* Tracing.current).toBe(null)
    yield* Tracing.continued(traceParent, "video job", {}, Effect.void)
    expect(ended).toHaveLength(4)
  })
)
