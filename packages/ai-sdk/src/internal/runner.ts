/** Runs calls of the client as Promises of the SDK. */
import { GatewayClient, make as makeClient } from "@model-gateway/core/GatewayClient"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import * as RetryBudget from "@model-gateway/core/RetryBudget"
import * as WireNames from "@model-gateway/core/WireNames"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import type { ModelGatewayClientSettings } from "../ModelGatewayProviderSettings.ts"
import { type Failure, type Final, ofConfig, ofFailure } from "./errors.ts"
import * as Exchange from "./exchange.ts"
import * as Repeats from "./repeats.ts"

/** A call of the SDK. */
export interface Call {
  /** The path of its operation, for the error of a call that sends nothing. */
  readonly path: string
  readonly modelId: string | undefined
  readonly abortSignal: AbortSignal | undefined
  readonly headers: Exchange.Headers | undefined
}

export interface Runner {
  /**
   * Rejects with the SDK's errors. If the signal is aborted, the request is, and the Promise
   * rejects with the signal's reason.
   */
  readonly run: <A>(
    call: Call,
    program: (
      exchange: Exchange.Exchange,
      /** For what outlives the call, such as a stream. All other failures are explained here. */
      explain: (failure: Failure | Final) => Error
    ) => Effect.Effect<A, Failure | Final | Error, GatewayClient>
  ) => Promise<A>
  /** Makes the attempts of calls that the SDK repeats. */
  readonly attempts: () => Repeats.Attempt
}

export const now: Effect.Effect<Date> = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

const given = (value: string | undefined) => (value === undefined ? undefined : Config.succeed(value))

const credentialOf = (apiKey: string | (() => string | Promise<string>)): GatewayConfig.Credential =>
  typeof apiKey === "string"
    ? Redacted.make(apiKey)
    : Effect.flatMap(Exchange.CurrentExchange, (exchange) =>
        exchange?.fixedCredential !== undefined
          ? Effect.succeed(exchange.fixedCredential)
          : Effect.tryPromise(async () => {
              const key: unknown = await apiKey()
              const credential = Redacted.make(typeof key === "string" ? key : "")
              if (exchange !== undefined) exchange.credential = credential
              return credential
            })
      )

export const make = (
  settings: ModelGatewayClientSettings,
  httpClient: Effect.Effect<HttpClient.HttpClient>
): Runner => {
  const { apiKey, baseURL, headers, wireNames, workspaceId } = settings
  const budget = RetryBudget.make(settings.retryBudget)
  const credential = apiKey === undefined ? undefined : credentialOf(apiKey)

  const connect = Effect.gen(function* () {
    const read = yield* GatewayConfig.config({
      baseUrl: given(baseURL),
      workspaceId: given(workspaceId),
      wireNames: wireNames && Config.succeed(WireNames.ofPreset(wireNames)),
      // A function is no `Config`, and replaces it below.
      credential: credential && Config.succeed(Redacted.make("")),
      retryBudget: budget,
      transformClient: Exchange.transformClient
    })
    const config = yield* GatewayConfig.fromOptions({ ...read, credential: credential ?? read.credential })
    const client = yield* makeClient.pipe(
      Effect.provideService(GatewayConfig.GatewayConfig, config),
      Effect.provideServiceEffect(HttpClient.HttpClient, httpClient)
    )
    return { client, baseUrl: config.baseUrl }
  }).pipe(
    // Effect's default is a copy that the first program of the process made.
    Effect.provideServiceEffect(
      ConfigProvider.ConfigProvider,
      Effect.sync(() => ConfigProvider.fromEnv())
    ),
    Effect.mapError((error) => ofConfig(error, baseURL !== undefined))
  )

  // Not before the first call: a program may load its `.env` file after it imports this package.
  let connection: Effect.Success<typeof connect> | undefined
  const connected = Effect.suspend(() =>
    connection === undefined
      ? Effect.tap(connect, (made) => Effect.sync(() => (connection = made)))
      : Effect.succeed(connection)
  )

  // Without a layer: a failed layer would fail all later calls, too.
  const runtime = ManagedRuntime.make(Layer.empty)

  return {
    run: async (call, program) => {
      call.abortSignal?.throwIfAborted()
      const exchange = Exchange.make(headers, call.headers)
      const exit = await runtime.runPromiseExit(
        Effect.flatMap(connected, ({ baseUrl, client }) => {
          const explain = (failure: Failure | Final) =>
            ofFailure(failure, {
              url: exchange.url ?? baseUrl + call.path,
              modelId: call.modelId,
              responseHeaders: exchange.responseHeaders
            })
          return program(exchange, explain).pipe(
            Effect.provideService(GatewayClient, client),
            Effect.provideService(Exchange.CurrentExchange, exchange),
            Effect.mapError((failure) => ("_tag" in failure ? explain(failure) : failure))
          )
        }),
        { signal: call.abortSignal }
      )
      if (Exit.isSuccess(exit)) return exit.value
      if (Cause.hasInterruptsOnly(exit.cause) && call.abortSignal?.aborted === true) throw call.abortSignal.reason
      throw Cause.squash(exit.cause)
    },
    attempts: () => Repeats.make(budget)
  }
}
