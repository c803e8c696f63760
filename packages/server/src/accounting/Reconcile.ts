/**
 * What an operator checks after a crash, and how it is closed.
 *
 * A reservation that a dead process left open is released and kept as *abandoned*: the upstream may
 * have billed its request, and the caller was not charged. The operator looks the request up on the
 * provider's bill and either settles the reservation at its cost or dismisses it. Both take effect
 * once for each, also if the process was only suspended and settles it at the same moment.
 *
 * Overruns and late settlements need no action: the charge is already correct. They only show that
 * an estimate was wrong, or that a process was suspended.
 */
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Context, Data, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Page from "../storage/sql/Page.ts"
import { ProcessInstance } from "../storage/sql/ProcessInstance.ts"
import { ProcessLocks } from "../storage/sql/ProcessLocks.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { Accounting, type Reconciliation } from "./Accounting.ts"
import { maxListed, type Reservation, reservations } from "./Ledger.ts"

/** An open reservation, and what owns it: a process that lives or is dead, or a video job. */
export interface OpenReservation extends Reservation {
  readonly holder: "alive" | "dead" | "job"
}

/** A reservation, and what owns it if it is open. */
export interface Held extends Reservation {
  readonly holder: OpenReservation["holder"] | null
}

/** What {@link Accounting} lists, and the reservations that are open now. */
export interface Report extends Reconciliation {
  /** At most 1000, newest first. Those of dead processes are released within seconds. */
  readonly open: ReadonlyArray<OpenReservation>
}

/** What the provider charged for an abandoned request. */
export interface Bill {
  readonly cost: MicroCredits.MicroCredits
  /** The provider's name, for the request log. Default: none is named. */
  readonly provider?: string | undefined
}

/** There is no abandoned reservation with this id. Nothing was changed. */
export class NotAbandoned extends Data.TaggedError("NotAbandoned")<{ readonly id: string; readonly isOpen: boolean }> {
  override readonly message = this.isOpen
    ? `The reservation ${this.id} is still open. If its process is dead, it becomes abandoned within seconds.`
    : `There is no abandoned reservation ${this.id}. It was settled, released or dismissed before, or never existed.`
}

/** Reconciliation. */
export class Reconcile extends Context.Service<
  Reconcile,
  {
    /**
     * What there is to check, at most 1000 entries of each kind, newest first. With `since`, in
     * epoch milliseconds, only what was abandoned or settled from then on.
     */
    readonly report: (since?: number) => Effect.Effect<Report, StorageError>
    /** The newest 1000 reservations of an organization in one state. */
    readonly list: (organizationId: string, state: Reservation["state"]) => Effect.Effect<Page.Page<Held>, StorageError>
    /**
     * The number of abandoned reservations of an organization or of one of its workspaces, counted
     * up to 1000.
     */
    readonly countAbandoned: (
      organizationId: string,
      workspaceId?: string | null
    ) => Effect.Effect<number, StorageError>
    /**
     * Charges the cost to the key and the workspace that had reserved it, also beyond their limits,
     * in the periods of the reservation. The request log then shows the request as completed, and
     * the report lists it as late. With an organization, only a reservation of its workspaces.
     */
    readonly settle: (
      id: string,
      bill: Bill,
      organizationId?: string
    ) => Effect.Effect<Reservation, NotAbandoned | StorageError>
    /** Charges nothing. The request log then shows the request as failed. */
    readonly dismiss: (id: string, organizationId?: string) => Effect.Effect<Reservation, NotAbandoned | StorageError>
  }
>()("@model-gateway/server/accounting/Reconcile") {}

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const accounting = yield* Accounting
  const processes = yield* ProcessInstance
  const locks = yield* ProcessLocks

  const withHolders = Effect.fnUntraced(function* (found: ReadonlyArray<ReturnType<typeof reservations.read>>) {
    const owners = [...new Set(found.flatMap(({ owner }) => owner ?? []))]
    // This process has just started, so that it has not seen others be silent. Their locks show
    // more.
    const alive = yield* processes.alive
    const released = owners.length === 0 ? new Set<string>() : yield* locks.released(owners)
    const holderOf = (owner: string) => (alive.has(owner) && !released.has(owner) ? "alive" : "dead")
    return found.map((reservation): OpenReservation => ({
      ...reservation,
      holder: reservation.owner === null ? "job" : holderOf(reservation.owner)
    }))
  })

  const open = Effect.gen(function* () {
    const rows =
      yield* sql`SELECT * FROM reservations WHERE state = 'open' ORDER BY reserved_at DESC, id LIMIT ${maxListed}`
    return yield* withHolders(rows.map(reservations.read))
  })

  const list = Effect.fn("Reconcile.list")(function* (organizationId: string, state: Reservation["state"]) {
    // `CROSS JOIN`: SQLite reads the reservations first, which are few.
    const rows = yield* sql`SELECT r.* FROM reservations r CROSS JOIN workspaces o
      WHERE r.state = ${state} AND o.id = r.workspace_id AND o.organization_id = ${organizationId}
      ORDER BY r.reserved_at DESC, r.id LIMIT ${maxListed + 1}`
    const found = yield* Page.itemsOf(rows.slice(0, maxListed), reservations.read)
    const items: ReadonlyArray<Held> =
      state === "open" ? yield* withHolders(found) : found.map((reservation) => ({ ...reservation, holder: null }))
    return { items, hasMore: rows.length > maxListed }
  }, mapSqlError("Reconcile.list"))

  const countAbandoned = Effect.fn("Reconcile.countAbandoned")(function* (
    organizationId: string,
    workspaceId: string | null = null
  ) {
    const ofWorkspace = workspaceId === null ? sql`1 = 1` : sql`r.workspace_id = ${workspaceId}`
    const rows = yield* sql`SELECT 1 FROM reservations r CROSS JOIN workspaces o
      WHERE r.state = 'abandoned' AND o.id = r.workspace_id AND o.organization_id = ${organizationId}
      AND ${ofWorkspace} LIMIT ${maxListed}`
    return rows.length
  }, mapSqlError("Reconcile.countAbandoned"))

  const report = Effect.fn("Reconcile.report")(function* (since = 0) {
    const { abandoned, late, overruns } = yield* accounting.reconciliation
    return {
      abandoned: abandoned.filter(({ abandonedAt }) => (abandonedAt ?? 0) >= since),
      overruns: overruns.filter(({ settledAt }) => settledAt >= since),
      late: late.filter(({ settledAt }) => settledAt >= since),
      open: yield* open
    }
  }, mapSqlError("Reconcile.report"))

  /** Ends an abandoned reservation, in one transaction with the check that it is one. */
  const close = (id: string, organizationId: string | undefined, end: Effect.Effect<string, StorageError>) =>
    Effect.gen(function* () {
      const isOwn =
        organizationId === undefined
          ? sql`1 = 1`
          : sql`EXISTS (SELECT 1 FROM workspaces o WHERE o.id = r.workspace_id AND o.organization_id = ${organizationId})`
      const [row] = yield* sql`SELECT * FROM reservations r WHERE r.id = ${id} AND ${isOwn}`
      const reservation = row === undefined ? undefined : reservations.read(row)
      if (reservation?.state !== "abandoned") return yield* new NotAbandoned({ id, isOpen: reservation !== undefined })
      // Its process may have settled it since.
      if ((yield* end) !== "late") return yield* new NotAbandoned({ id, isOpen: false })
      return reservation
    }).pipe(sql.withTransaction, mapSqlError("Reconcile.close"))

  return Reconcile.of({
    report,
    list,
    countAbandoned,
    settle: (id, { cost, provider = "" }, organizationId) =>
      close(id, organizationId, accounting.settle({ id }, { cost, provider, upstreamModel: "" })).pipe(
        Effect.withSpan("Reconcile.settle")
      ),
    dismiss: (id, organizationId) =>
      close(id, organizationId, accounting.release({ id }, { status: "failed" })).pipe(
        Effect.withSpan("Reconcile.dismiss")
      )
  })
})

/** The service over the database. */
export const layerSql: Layer.Layer<Reconcile, never, SqlClient | Accounting | ProcessInstance> = Layer.effect(
  Reconcile,
  make
)
