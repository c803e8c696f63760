/**
 * The alerts of organizations, and the times that they fired.
 *
 * A process takes the turn to evaluate an alert by a statement that only one of them can win. What
 * follows from an evaluation is one transaction: the state of the alert, the firing and the
 * delivery. It checks the state that it changes, so no change is reported twice, whoever evaluates.
 */
import type { ResolvedReason } from "@model-gateway/core/Alerts"
import { Clock, Context, Data, Duration, Effect, Latch, Layer } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as Workspace from "../access/Workspace.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { DeliveryStore } from "../webhooks/DeliveryStore.ts"
import { type Alert, alerts, type Firing, firings, holdFor, type Measured, messageId, type Settings } from "./Alert.ts"
import * as AlertMessage from "./AlertMessage.ts"

/** The maximum number of alerts of an organization. Each costs some reads a minute. */
export const maxPerOrganization = 100

/** How often each alert is evaluated. */
export const evaluateEvery = Duration.minutes(1)

/** How long a firing is kept. One that has not resolved stays longer. */
export const retention = Duration.days(90)

/** The maximum number of stored firings that have resolved. Beyond it, the oldest are deleted. */
export const maxFirings = 10_000

/** The organization has no such alert (status 404). */
export class AlertNotFound extends Data.TaggedError("AlertNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such alert."
}

/** The organization has {@link maxPerOrganization} alerts (status 400). */
export class TooManyAlerts extends Data.TaggedError("TooManyAlerts")<{ readonly organizationId: string }> {
  override readonly message = `An organization has at most ${maxPerOrganization} alerts.`
}

/** A new alert. */
export interface CreateAlert extends Settings, Pick<Alert, "organizationId" | "kind"> {}

/** Which firings to list. */
export interface FiringFilter {
  /** Default: those of all workspaces, and of none. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  readonly alertId?: string | undefined
}

/** The alerts. */
export class AlertStore extends Context.Service<
  AlertStore,
  {
    readonly create: (
      input: CreateAlert
    ) => Effect.Effect<Alert, TooManyAlerts | Workspace.WorkspaceNotFound | StorageError>
    readonly get: (organizationId: string, id: string) => Effect.Effect<Alert, AlertNotFound | StorageError>
    /** All of the organization, newest first. They are at most {@link maxPerOrganization}. */
    readonly list: (organizationId: string) => Effect.Effect<ReadonlyArray<Alert>, StorageError>
    /**
     * `change` makes the new settings. If they watch something else, or send it elsewhere, a firing
     * alert resolves first.
     */
    readonly update: <E>(
      organizationId: string,
      id: string,
      change: (present: Alert) => Effect.Effect<Settings, E>
    ) => Effect.Effect<Alert, E | AlertNotFound | StorageError>
    /** Deletes an alert. A firing one resolves first. */
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, AlertNotFound | StorageError>
    /** Writes a test message, and returns the id of its delivery. */
    readonly test: (alert: Alert) => Effect.Effect<string, StorageError>
    /** Waits until this process has created or changed an alert since the last wait. */
    readonly awaitChange: Effect.Effect<void>
    /**
     * Takes the turn to evaluate what is due, at most `limit` alerts. Each is due once in {@link
     * evaluateEvery}.
     */
    readonly takeDue: (limit: number) => Effect.Effect<ReadonlyArray<Alert>, StorageError>
    /**
     * Records what was measured, and fires or resolves the alert if it follows. Undefined: there is
     * nothing to measure, so the condition is false. Ignored if the alert was changed meanwhile.
     */
    readonly evaluated: (alert: Alert, measured: Measured | undefined) => Effect.Effect<void, StorageError>
    /** Newest first. */
    readonly listFirings: (
      organizationId: string,
      filter: FiringFilter,
      page: Page.Request
    ) => Effect.Effect<Page.Page<Firing>, Page.UnknownCursor | StorageError>
    /** Deletes old firings. Returns their number. */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/alerts/AlertStore") {}

/** What of the settings an evaluation or a message depends on. */
const decisive = [
  "workspaceId",
  "threshold",
  "windowSeconds",
  "minRequests",
  "keyHash",
  "guardrailId",
  "model",
  "provider",
  "targetType",
  "url"
] as const

const sentences: Record<ResolvedReason, string> = {
  ended: "The condition has ended.",
  changed: "The alert was changed.",
  disabled: "The alert was switched off.",
  deleted: "The alert was deleted."
}

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const deliveries = yield* DeliveryStore
  /** Opened when this process changes an alert, so that it evaluates it at once. */
  const changed = yield* Latch.make()

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM alerts WHERE id = ${id} AND organization_id = ${organizationId}`
    return row === undefined ? yield* new AlertNotFound({ id }) : alerts.read(row)
  })

  const lock = (id: string) => Dialect.lock(sql, sql`SELECT 1 FROM alerts WHERE id = ${id}`)

  const create = Effect.fn("AlertStore.create")(
    function* (input: CreateAlert) {
      const { organizationId, senderWorkspaceId } = input
      // Also counts one after the other what is created at the same time.
      yield* Workspace.lock(sql, senderWorkspaceId)
      const present = yield* sql`SELECT id FROM alerts WHERE organization_id = ${organizationId}`
      if (present.length >= maxPerOrganization) return yield* new TooManyAlerts({ organizationId })
      const now = yield* Clock.currentTimeMillis
      const id = yield* random.uuidV7()
      const row = alerts.insert({ ...input, id, checkedAt: 0, createdAt: now, updatedAt: now })
      yield* sql`INSERT INTO alerts ${sql.insert(row)}`
      yield* sql.afterCommit(Effect.asVoid(changed.open))
      return yield* Effect.catchTag(find(organizationId, id), "AlertNotFound", Effect.die)
    },
    sql.withTransaction,
    mapSqlError("AlertStore.create")
  )

  const list = Effect.fn("AlertStore.list")(function* (organizationId: string) {
    const rows = yield* sql`SELECT * FROM alerts WHERE organization_id = ${organizationId}
      ORDER BY created_at DESC, id DESC`
    return yield* Page.itemsOf(rows, alerts.read)
  }, mapSqlError("AlertStore.list"))

  /** Ends the firing of an alert and reports it. The caller changes the alert. */
  const resolve = Effect.fnUntraced(function* (
    alert: Alert,
    firingId: string,
    reason: ResolvedReason,
    measured?: Measured
  ) {
    const now = yield* Clock.currentTimeMillis
    const columns = firings.update({ resolvedAt: now, resolvedReason: reason })
    const [row] = yield* sql`UPDATE alert_firings SET ${sql.update(columns)}
      WHERE id = ${firingId} AND resolved_at IS NULL RETURNING *`
    if (row === undefined) return
    yield* deliveries.write(
      AlertMessage.toDelivery(alert, {
        id: messageId(firingId, "resolved"),
        type: "alert.resolved",
        at: now,
        firing: firings.read(row),
        value: measured?.value ?? null,
        message: measured === undefined ? sentences[reason] : measured.message
      })
    )
  })

  const update = <E>(
    organizationId: string,
    id: string,
    change: (present: Alert) => Effect.Effect<Settings, E>
  ): Effect.Effect<Alert, E | AlertNotFound | StorageError> =>
    Effect.gen(function* () {
      yield* lock(id)
      const present = yield* find(organizationId, id)
      const settings = yield* change(present)
      const now = yield* Clock.currentTimeMillis
      const isOther = decisive.some((field) => settings[field] !== present[field])
      const reason = present.enabled && !settings.enabled ? "disabled" : isOther ? "changed" : undefined
      if (reason !== undefined && present.firingId !== null) yield* resolve(present, present.firingId, reason)
      const isReset = reason !== undefined || settings.enabled !== present.enabled
      const columns = alerts.update({
        ...settings,
        updatedAt: now,
        ...(isReset ? { firingId: null, endedSince: null, checkedAt: 0, lastValue: null, evaluatedAt: null } : {}),
        ...(isReset && present.firingId !== null ? { stateSince: now } : {})
      })
      yield* sql`UPDATE alerts SET ${sql.update(columns)} WHERE id = ${id}`
      yield* sql.afterCommit(Effect.asVoid(changed.open))
      return yield* find(organizationId, id)
    }).pipe(sql.withTransaction, mapSqlError("AlertStore.update"), Effect.withSpan("AlertStore.update"))

  const remove = Effect.fn("AlertStore.remove")(
    function* (organizationId: string, id: string) {
      yield* lock(id)
      const alert = yield* find(organizationId, id)
      if (alert.firingId !== null) yield* resolve(alert, alert.firingId, "deleted")
      yield* sql`DELETE FROM alerts WHERE id = ${id}`
    },
    sql.withTransaction,
    mapSqlError("AlertStore.remove")
  )

  const test = Effect.fn("AlertStore.test")(
    function* (alert: Alert) {
      const id = `evt_alert_${yield* random.uuidV7()}`
      yield* deliveries.write(
        AlertMessage.toDelivery(alert, {
          id,
          type: "alert.test",
          at: yield* Clock.currentTimeMillis,
          firing: undefined,
          value: alert.lastValue,
          message: "This is a test. Nothing has happened."
        })
      )
      return id
    },
    sql.withTransaction,
    mapSqlError("AlertStore.test")
  )

  const takeDue = Effect.fn("AlertStore.takeDue")(function* (limit: number) {
    const now = yield* Clock.currentTimeMillis
    const due = now - Duration.toMillis(evaluateEvery)
    const found = yield* sql`SELECT id FROM alerts WHERE enabled = 1 AND checked_at <= ${due}
      ORDER BY checked_at LIMIT ${limit}`
    // A write of nothing would wait for other writes.
    if (found.length === 0) return []
    const ids = found.map((row) => Dialect.text(row, "id"))
    // Checked again when the row is locked, so that one process gets each.
    const rows = yield* sql`UPDATE alerts SET checked_at = ${now}
      WHERE ${sql.in("id", ids)} AND enabled = 1 AND checked_at <= ${due} RETURNING *`
    return yield* Page.itemsOf(rows, alerts.read)
  }, mapSqlError("AlertStore.takeDue"))

  const fire = Effect.fnUntraced(function* (alert: Alert, measured: Measured, now: number) {
    const id = yield* random.uuidV7()
    const firing = {
      id,
      organizationId: alert.organizationId,
      workspaceId: alert.workspaceId,
      alertId: alert.id,
      alertName: alert.name,
      kind: alert.kind,
      value: measured.value,
      message: measured.message,
      createdAt: now,
      resolvedAt: null,
      resolvedReason: null
    }
    yield* sql`INSERT INTO alert_firings ${sql.insert(firings.insert(firing))}`
    const { message, value } = measured
    yield* deliveries.write(
      AlertMessage.toDelivery(alert, {
        id: messageId(id, "fired"),
        type: "alert.fired",
        at: now,
        firing,
        value,
        message
      })
    )
    return { firingId: id, endedSince: null, stateSince: now }
  })

  /** What changes of an alert by an evaluation. */
  const follow = Effect.fnUntraced(function* (alert: Alert, measured: Measured | undefined, now: number) {
    const { endedSince, firingId } = alert
    if (measured?.isTrue === true) return firingId === null ? yield* fire(alert, measured, now) : { endedSince: null }
    if (firingId === null) return {}
    // A clock that was set back must not keep an alert from resolving.
    if (endedSince === null || endedSince > now) return { endedSince: now }
    if (now - endedSince < Duration.toMillis(holdFor)) return {}
    yield* resolve(alert, firingId, "ended", measured)
    return { firingId: null, endedSince: null, stateSince: now }
  })

  const evaluated = Effect.fn("AlertStore.evaluated")(
    function* (alert: Alert, measured: Measured | undefined) {
      yield* lock(alert.id)
      const [row] = yield* sql`SELECT * FROM alerts WHERE id = ${alert.id} AND checked_at = ${alert.checkedAt}`
      // It was changed, or another process has had a later turn.
      if (row === undefined) return
      const now = yield* Clock.currentTimeMillis
      const change = yield* follow(alerts.read(row), measured, now)
      const columns = alerts.update({ ...change, evaluatedAt: now, lastValue: measured?.value ?? null })
      yield* sql`UPDATE alerts SET ${sql.update(columns)} WHERE id = ${alert.id}`
    },
    sql.withTransaction,
    mapSqlError("AlertStore.evaluated")
  )

  const listFirings: AlertStore["Service"]["listFirings"] = Effect.fn("AlertStore.listFirings")(function* (
    organizationId,
    { alertId, workspaceIds },
    page
  ) {
    const wanted = Page.inWorkspaces(
      sql,
      sql.and([
        sql`organization_id = ${organizationId}`,
        ...(alertId === undefined ? [] : [sql`alert_id = ${alertId}`])
      ]),
      workspaceIds
    )
    return yield* Page.read(
      {
        start: Page.newestFirst,
        createdAt: (after) =>
          Page.createdAt(sql`SELECT created_at FROM alert_firings WHERE id = ${after} AND ${wanted}`),
        rows: (place, limit) => sql`SELECT * FROM alert_firings
          WHERE ${wanted} AND (created_at, id) < (${place.createdAt}, ${place.name})
          ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
        item: firings.read
      },
      page
    )
  }, mapSqlError("AlertStore.listFirings"))

  const purge = Purge.oldest(sql, {
    table: "alert_firings",
    age: retention,
    rows: maxFirings,
    // One that has not resolved stays: the alert ends it.
    only: sql`resolved_at IS NOT NULL`
  }).pipe(mapSqlError("AlertStore.purge"), Effect.withSpan("AlertStore.purge"))

  return AlertStore.of({
    create,
    get: (organizationId, id) => find(organizationId, id).pipe(mapSqlError("AlertStore.get")),
    list,
    update,
    remove,
    test,
    awaitChange: Effect.andThen(changed.await, changed.close),
    takeDue,
    evaluated,
    listFirings,
    purge
  })
})

/** The alerts in the database. */
export const layerSql: Layer.Layer<AlertStore, never, SqlClient | SecureRandom | DeliveryStore> = Layer.effect(
  AlertStore,
  make
)
