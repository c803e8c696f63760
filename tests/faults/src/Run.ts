/** One run: a plan against the service, and everything that did not hold. */
import { Effect, Exit, Fiber, Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../../packages/server/src/access/GuardrailStore.ts"
import { KeyStore } from "../../../packages/server/src/access/KeyStore.ts"
import { WorkspaceStore } from "../../../packages/server/src/access/WorkspaceStore.ts"
import * as TestOutbox from "../../../packages/server/test/events/TestOutbox.ts"
import * as PostgresDatabases from "../../../packages/server/test/PostgresDatabases.ts"
import * as RowInvariants from "./RowInvariants.ts"
import * as Callers from "./Callers.ts"
import * as Database from "./Database.ts"
import * as Doubles from "./Doubles.ts"
import * as Ending from "./Ending.ts"
import type { Plan } from "./Plan.ts"
import * as Service from "./Service.ts"
import * as World from "./World.ts"

/** What a run found. */
export interface Result {
  readonly violations: ReadonlyArray<World.Violation>
  readonly lines: ReadonlyArray<string>
  readonly digest: string
  readonly counts: World.Counts
}

const minute = 60_000

/** After the last fault, the longest time until nothing is under way. */
const patience = 180 * minute

/** A crashed process is recognized within this time, so a run goes on at least this long. */
const aftermath = minute / 2

class Stuck extends Error {}

/** SQLite, or the URL of a Postgres server, on which each run makes a database. */
export type Location = "sqlite" | (() => Promise<string>)

/** Runs a plan. `details` takes every line, to find where two runs part. */
export const run = async (plan: Plan, store: Location, details?: Array<string>): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-chaos-"))
  const world = World.make(plan, { quietTurns: store === "sqlite" ? 3 : 8 }, details)
  const { simulation } = world
  const rowInvariants = RowInvariants.make(world)
  const upstreams = Doubles.makeUpstreams(world)
  const objects = Doubles.makeObjects(world)
  const receiver = Doubles.makeReceiver(world)
  const scope = Scope.makeUnsafe()
  const database =
    store === "sqlite"
      ? Database.sqlite(world, join(folder, "gateway.db"), (read) => {
          rowInvariants.check(RowInvariants.statements.map(read))
        })
      : await Database.postgres(
          world,
          await Effect.runPromise(Scope.provide(PostgresDatabases.createAt(await store(), false), scope))
        )

  const outside = simulation.contextOf({ isAlive: () => true }, world.dice("callers"))
  const fork = Effect.runForkWith(outside)
  const services: Array<Service.Service> = []
  let started = 0

  const start = (slot: number): void => {
    services[slot] = Service.start({
      name: `process ${++started}`,
      world,
      database,
      upstreams,
      objects,
      receiver,
      folder,
      ended: (after) => {
        fork(
          Effect.andThen(
            Effect.sleep(after),
            Effect.sync(() => start(slot))
          )
        )
      }
    })
  }

  const choice = world.dice("choice of process")
  const ready = () => {
    const all = services.filter((one) => one.isReady())
    return all.length === 0 ? undefined : all[choice.int(0, all.length - 1)]
  }

  const step = async (end: number): Promise<boolean> => {
    const goesOn = await simulation.step(end)
    if (database.hasChanged()) rowInvariants.check(await database.read(RowInvariants.statements))
    return goesOn
  }

  /** Lets time pass until the condition holds. */
  const until = async (isSo: () => boolean | Promise<boolean>, within: number, what: string): Promise<void> => {
    const end = simulation.now() + within
    await simulation.settle()
    while (!(await isSo())) {
      if (!(await step(end))) throw new Stuck(what)
    }
  }

  const finish = async <A, E>(effect: Effect.Effect<A, E>, what: string): Promise<A> => {
    const fiber = fork(effect)
    await until(() => fiber.pollUnsafe() !== undefined, 5 * minute, what)
    return Effect.runSync(Effect.flatten(Fiber.await(fiber)))
  }

  try {
    for (let slot = 0; slot < plan.processes; slot++) {
      start(slot)
      await until(() => services[slot]?.isReady() === true, minute, "a process does not start")
    }
    const context = services[0]?.context()
    if (context === undefined) throw new Stuck("no process")

    const tenancy = await finish(
      Effect.gen(function* () {
        const made = yield* (yield* WorkspaceStore).bootstrap({
          credits: MicroCredits.make(world.dice("credits").pick([60_000, 250_000, 1_000_000]))
        })
        if (made === null) return yield* Effect.die(new Error("the database was used before"))
        const { organizationId, id: workspaceId } = made.workspace
        // So that the events are written.
        yield* TestOutbox.broadcast(made.workspace)
        const keys = yield* KeyStore
        const guardrails = yield* GuardrailStore
        const guardrail = yield* guardrails.create({
          organizationId,
          name: "guardrail",
          limit: MicroCredits.make(200_000)
        })
        const create = (name: string, limit?: number) =>
          Effect.map(
            keys.create({
              organizationId,
              workspaceId,
              name,
              ...(limit === undefined ? {} : { limit: MicroCredits.make(limit) })
            }),
            ({ key, plain }): Callers.ApiKey => ({ hash: key.hash, plain, isDeleted: false })
          )
        const guarded = yield* create("guarded")
        yield* guardrails.assign(organizationId, guardrail.id, [guarded.hash])
        const all = [
          yield* create("unlimited"),
          yield* create("small", 60_000),
          guarded,
          yield* create("large", 400_000)
        ]
        return { workspaceId, guardrailId: guardrail.id, keys: all, managementKey: made.managementKey, organizationId }
      }).pipe(Effect.provide(context)),
      "the first keys"
    )
    const callers = Callers.make({ world, service: ready, ...tenancy })

    world.setFaults(true)
    const fibers = plan.operations.map((operation) => fork(callers.perform(operation)))
    for (const { at, isGraceful, restartsAfter } of plan.stops) {
      fork(
        Effect.gen(function* () {
          yield* Effect.sleep(at)
          const one = ready()
          if (one === undefined) return
          if (!isGraceful) return one.kill(restartsAfter)
          yield* one.stop
          yield* Effect.sleep(restartsAfter)
          const slot = services.indexOf(one)
          if (slot !== -1) start(slot)
        })
      )
    }

    const end = simulation.now() + plan.length
    while (await step(end));
    world.setFaults(false)
    world.log("faults have stopped")
    const calm = simulation.now() + aftermath
    await until(
      async () =>
        simulation.now() >= calm &&
        services.every((one) => one.isReady()) &&
        fibers.every((fiber) => fiber.pollUnsafe() !== undefined) &&
        (await Ending.isQuiet(database)),
      patience,
      "something is still under way long after the last fault"
    )
    for (const fiber of fibers) {
      const exit = fiber.pollUnsafe()
      if (exit !== undefined && Exit.isFailure(exit)) throw new Error(`a caller failed: ${String(exit.cause)}`)
    }

    const ending = { world, database, callers, upstreams, objects, receiver }
    await Ending.checkRecords(ending)
    await finish(Ending.checkAnswers(ending), "the answers at the end")
    Ending.checkDeleted(ending)
    await finish(services[0]?.sweep ?? Effect.void, "the sweep of objects")
    await Ending.checkObjects(ending)
    for (const one of services) await finish(one.stop, "a process does not stop")
    await Ending.checkRecords(ending)
  } catch (error) {
    if (!(error instanceof Stuck)) throw error
    world.violated("everything ends", error.message)
  } finally {
    for (const one of services) if (one.isAlive()) one.abort()
    await database.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(folder, { recursive: true, force: true })
  }
  return { violations: world.violations, lines: world.lines, digest: world.digest(), counts: world.counts }
}
