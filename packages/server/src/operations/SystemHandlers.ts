/** Listing the processes of the gateway, and the settings that are in force. */
import type * as System from "@model-gateway/core/System"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { EffectiveSettings } from "../EffectiveSettings.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import { InstanceDescription } from "../storage/sql/InstanceDescription.ts"
import * as Migrations from "../storage/sql/Migrations.ts"
import { type Described, ProcessInstance } from "../storage/sql/ProcessInstance.ts"

const toWire = ({ state, ...process }: Described, currentId: string): System.Instance => ({
  id: process.id,
  is_current: process.id === currentId,
  version: process.version,
  worker: process.worker,
  started_at: Timestamp.fromMillis(process.startedAt),
  last_heartbeat_at: Timestamp.fromMillis(process.heartbeatAt),
  checked_at: Timestamp.fromMillis(process.checkedAt),
  status: state.status,
  parts: state.parts
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const instance = yield* ProcessInstance
  const description = yield* InstanceDescription
  const settings = yield* EffectiveSettings
  const kind = sql.onDialectOrElse({ pg: () => "postgres" as const, orElse: () => "sqlite" as const })
  const inspect = Effect.provideService(Migrations.inspect, SqlClient, sql)

  const instances = Effect.gen(function* () {
    yield* description.update
    const found = yield* orUnavailable(instance.list)
    const { current } = yield* orUnavailable(inspect)
    return {
      data: found.map((process) => toWire(process, instance.id)),
      database: { kind, schema_version: current }
    }
  })

  return { instances, settings: Effect.map(settings, (data) => ({ data, instance_id: instance.id })) }
})

/** The `system` group of the contract. */
export const layer = RequestServices.group(make, ({ instances, settings }) =>
  HttpApiBuilder.group(GatewayApi, "system", (handlers) =>
    handlers.handle("listInstances", () => instances).handle("listSettings", () => settings)
  )
)
