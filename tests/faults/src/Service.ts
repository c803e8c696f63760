/**
 * One process of the service: all of its layers over a database, with requests handed to its HTTP
 * application in memory.
 *
 * A killed process does nothing any more: its statements and calls neither start nor return, its
 * timers do not fire, and its connections are closed, which rolls back what was not committed.
 */
import { NodePath } from "@effect/platform-node"
import { Context, Duration, Effect, Exit, Fiber, FileSystem, Layer, References, Result, Scope, Stream } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import type { HttpServerResponse } from "effect/http"
import { Etag, HttpEffect, HttpPlatform, HttpServer, HttpServerError, HttpServerRequest } from "effect/http"
import * as NetAddress from "effect/net/NetAddress"
import type { SqlClient } from "effect/sql/SqlClient"
import type * as Accounting from "../../../packages/server/src/accounting/Accounting.ts"
import type { GuardrailStore } from "../../../packages/server/src/access/GuardrailStore.ts"
import type { KeyStore } from "../../../packages/server/src/access/KeyStore.ts"
import type { DestinationStore } from "../../../packages/server/src/broadcast/DestinationStore.ts"
import { Vault } from "../../../packages/server/src/access/Vault.ts"
import type { WorkspaceStore } from "../../../packages/server/src/access/WorkspaceStore.ts"
import * as Composition from "../../../packages/server/src/Composition.ts"
import * as GatewayServerConfig from "../../../packages/server/src/GatewayServerConfig.ts"
import { type FileStore, objectOwner as filesOwner } from "../../../packages/server/src/objects/FileStore.ts"
import { ObjectStore } from "../../../packages/server/src/objects/ObjectStore.ts"
import * as ObjectSweep from "../../../packages/server/src/objects/ObjectSweep.ts"
import * as ModelCatalog from "../../../packages/server/src/routing/ModelCatalog.ts"
import { OutboundHttp } from "../../../packages/server/src/outbound/OutboundHttp.ts"
import * as Readiness from "../../../packages/server/src/observability/Readiness.ts"
import * as Scrape from "../../../packages/server/src/observability/Scrape.ts"
import * as StaticSite from "../../../packages/server/src/site/StaticSite.ts"
import * as InstanceDescription from "../../../packages/server/src/storage/sql/InstanceDescription.ts"
import * as Migrations from "../../../packages/server/src/storage/sql/Migrations.ts"
import * as VideoObjects from "../../../packages/server/src/video/VideoObjects.ts"
import type { VideoJobs } from "../../../packages/server/src/video/VideoJobs.ts"
import type { Database } from "./Database.ts"
import { type Objects, type Receiver, type Upstreams, vault } from "./Doubles.ts"
import * as SyncFiles from "./SyncFiles.ts"
import type { Process, World } from "./World.ts"

/** A response, or none because the connection broke. */
export type Reply =
  | { readonly _tag: "Answer"; readonly status: number; readonly body: Buffer }
  | { readonly _tag: "Lost" }

const lost: Reply = { _tag: "Lost" }

/** What the test uses of a process besides its HTTP application. */
type Stores =
  | Accounting.Accounting
  | DestinationStore
  | FileStore
  | GuardrailStore
  | KeyStore
  | ObjectStore
  | SqlClient
  | VideoJobs
  | WorkspaceStore

/** A running process. */
export interface Service extends Process {
  /** Undefined until it has started. */
  readonly context: () => Context.Context<Stores> | undefined
  readonly isReady: () => boolean
  /** Sends a request. An interruption is a caller who disconnects. */
  readonly handle: (request: Request) => Effect.Effect<Reply>
  /** Ends the process at once. No other one starts. */
  readonly abort: () => void
  /** Stops the process as on SIGTERM. */
  readonly stop: Effect.Effect<void>
  /** Removes objects without a record, of any age. */
  readonly sweep: Effect.Effect<number, unknown>
}

/** What a process is started with. */
export interface Options {
  readonly name: string
  readonly world: World
  readonly database: Database
  readonly upstreams: Upstreams
  readonly objects: Objects
  readonly receiver: Receiver
  readonly folder: string
  /** Called when it has died or could not start, with the time until the next one starts. */
  readonly ended: (restartsAfter: number) => void
}

const settings: GatewayServerConfig.Options = {
  videos: { lifetime: Duration.minutes(10) },
  failedAuthentications: { requests: 1_000_000 }
}

/** How long a stopping process waits for its requests. */
const drainMillis = 30_000

/** Starts a process. It is ready when all its layers are built. */
export const start = (options: Options): Service => {
  const { database, ended, folder, name, objects, receiver, upstreams, world } = options
  let alive = true
  let stopping = false
  let built: Context.Context<Stores> | undefined
  let application:
    | {
        readonly run: Effect.Effect<void, never, HttpServerRequest.HttpServerRequest>
        readonly context: Context.Context<never>
      }
    | undefined
  const replies = new WeakMap<object, (reply: Reply) => void>()
  const inFlight = new Set<(reply: Reply) => void>()
  const dice = world.dice(name)
  const scope = Scope.makeUnsafe()

  const die = () => {
    alive = false
    database.disconnect(name)
    for (const reply of inFlight) reply(lost)
    inFlight.clear()
  }

  const process: Process = {
    name,
    isAlive: () => alive,
    kill: (restartsAfter) => {
      world.counts.kills++
      world.log(`${name} is killed; the next process starts after ${restartsAfter} ms`)
      die()
      ended(restartsAfter)
    }
  }

  const context = Context.add(world.simulation.contextOf(process, dice), References.MinimumLogLevel, "None")

  const server = HttpServer.make({
    address: Result.getOrThrow(NetAddress.inetAddressFromString("127.0.0.1:8787")),
    serve: (httpEffect, middleware) =>
      Effect.gen(function* () {
        const services = yield* Effect.context<never>()
        const send = Effect.fnUntraced(function* (
          request: HttpServerRequest.HttpServerRequest,
          { body, status }: HttpServerResponse.HttpServerResponse
        ) {
          const chunks =
            body._tag === "Uint8Array"
              ? [body.body]
              : body._tag === "Stream"
                ? yield* Stream.runCollect(body.stream)
                : []
          replies.get(request)?.({ _tag: "Answer", status, body: Buffer.concat(chunks) })
        })
        const run = HttpEffect.toHandled(httpEffect, send, middleware)
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            const end = world.simulation.now() + drainMillis
            application = undefined
            while (inFlight.size > 0 && world.simulation.now() < end) yield* Effect.sleep(50)
          })
        )
        application = { run, context: services }
      })
  })

  const layer = Layer.merge(Composition.layerHttp, Composition.background).pipe(
    Layer.provide(InstanceDescription.layer({})),
    Layer.provide([Readiness.layer, Scrape.layer]),
    Layer.provideMerge(Composition.jobs),
    Layer.provideMerge(
      Layer.mergeAll(
        ModelCatalog.layer(upstreams.offersOf(process)),
        Composition.limits,
        Layer.succeed(ObjectStore, objects.storeOf(process)),
        Layer.succeed(OutboundHttp, receiver.clientOf(process))
      )
    ),
    Layer.provide(Composition.countersMemory),
    Layer.provideMerge(Composition.layerStoresSql),
    Layer.provideMerge(Layer.succeed(Vault, vault)),
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(database.connect(process)),
    Layer.provide(Composition.layerServer),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.succeed(SecureRandom.SecureRandom, SecureRandom.make(dice.bytes)),
        Layer.succeed(StaticSite.StaticSite, undefined),
        Layer.succeedContext(SyncFiles.audioThread),
        Layer.succeed(HttpServer.HttpServer, server),
        HttpPlatform.layer.pipe(Layer.provideMerge(Layer.succeed(FileSystem.FileSystem, SyncFiles.make(folder)))),
        Etag.layer,
        NodePath.layer,
        GatewayServerConfig.layer(settings)
      )
    )
  )

  world.counts.starts++
  world.log(`${name} starts`)
  const starting = Effect.runForkWith(context)(Layer.buildWithScope(Layer.fresh(layer), scope))
  starting.addObserver((exit) => {
    if (!alive) return
    if (Exit.isSuccess(exit)) {
      built = exit.value
      world.log(`${name} is ready`)
      return
    }
    world.log(`${name} could not start`)
    world.detail(String(exit.cause))
    die()
    ended(1000)
  })

  const handle = (request: Request) =>
    Effect.callback<Reply>((resume) => {
      if (!alive || application === undefined) return resume(Effect.succeed(lost))
      const reply = (one: Reply) => {
        inFlight.delete(reply)
        resume(Effect.succeed(one))
      }
      const incoming = HttpServerRequest.fromWeb(request)
      replies.set(incoming, reply)
      inFlight.add(reply)
      const fiber = Effect.runForkWith(Context.add(application.context, HttpServerRequest.HttpServerRequest, incoming))(
        application.run
      )
      // Without a reply, the connection was closed.
      fiber.addObserver(() => {
        if (alive) reply(lost)
      })
      return Effect.sync(() => {
        inFlight.delete(reply)
        if (alive) fiber.interruptUnsafe(undefined, HttpServerError.ClientAbort.annotation)
      })
    })

  const stop = Effect.suspend(() => {
    stopping = true
    world.log(`${name} stops`)
    return Effect.callback<void>((resume) => {
      const closing = Effect.runForkWith(context)(Effect.andThen(Fiber.await(starting), Scope.close(scope, Exit.void)))
      closing.addObserver(() => {
        if (alive) {
          world.log(`${name} has stopped`)
          die()
        }
        resume(Effect.void)
      })
    })
  })

  return {
    ...process,
    context: () => built,
    isReady: () => alive && !stopping && built !== undefined && application !== undefined,
    handle,
    abort: die,
    stop,
    sweep: Effect.suspend(() =>
      built === undefined
        ? Effect.succeed(0)
        : Effect.flatten(ObjectSweep.make(Effect.all([filesOwner, VideoObjects.objectOwner]), { grace: -1 })).pipe(
            Effect.provide(built)
          )
    )
  }
}
