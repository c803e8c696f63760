/**
 * The running system: the processes of the gateway, its database, and the settings that are in
 * force.
 *
 * An addition to the specification, which does not describe these operations.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { BadRequest, Forbidden, InternalServerError, Unauthorized } from "./GatewayError.ts"
import { Timestamp } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import * as Operation from "./Operation.ts"

/**
 * `ready`: it works. `degraded`: it fails, and the instance still serves requests that do not need
 * it. `unavailable`: it fails, and the instance cannot serve.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Status = Schema.Literals(["ready", "degraded", "unavailable"])

/**
 * @category models
 * @since 0.1.0
 */
export type Status = typeof Status.Type

/**
 * A part of an instance, such as its database, as `/readyz` has it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Part = Schema.Struct({
  status: Status,
  /** Why it fails. Absent: it works. */
  message: Schema.optionalKey(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Part = { [Field in keyof typeof Part.Type]: (typeof Part.Type)[Field] }

/**
 * A process that serves requests. Each worker of `serve --workers` is one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Instance = Schema.Struct({
  /** Identifies the process until it ends. */
  id: Schema.String,
  /** Whether it is the one that answered. */
  is_current: Schema.Boolean,
  /** The version of its program. Null: not known. */
  version: Schema.NullOr(Schema.String),
  /** The number of the worker, from 1. Null: it is the only process of its service. */
  worker: Schema.NullOr(Schema.Int),
  /** When it started, by its own clock. */
  started_at: Timestamp,
  /** Its last sign of life, by its own clock. It gives one every second. */
  last_heartbeat_at: Timestamp,
  /** When its parts were checked: every 10 seconds, and for this answer if `is_current`. */
  checked_at: Timestamp,
  /** That of the part in the worst state. */
  status: Status,
  /** Its parts by their names, such as `database`, `object_store` and `uploads`. */
  parts: Schema.Record(Schema.String, Part)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Instance = { [Field in keyof typeof Instance.Type]: (typeof Instance.Type)[Field] }

/**
 * The database that the instances share.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Database = Schema.Struct({
  /** What it is. */
  kind: Schema.Literals(["sqlite", "postgres"]),
  /** The number of its last migration. */
  schema_version: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type Database = { [Field in keyof typeof Database.Type]: (typeof Database.Type)[Field] }

/**
 * The instances of a gateway. An instance that ends is gone at once. One that was killed is gone at
 * once with SQLite and within 3 seconds with Postgres, and one that hangs or whose machine has
 * vanished within 7 seconds.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InstancesResponse = Schema.Struct({
  /** The instances, those that started first at the top. */
  data: Schema.Array(Instance),
  /** The database. */
  database: Database
})

/**
 * @category models
 * @since 0.1.0
 */
export type InstancesResponse = {
  [Field in keyof typeof InstancesResponse.Type]: (typeof InstancesResponse.Type)[Field]
}

/**
 * Where the value of a setting comes from. `default`: it was not given. `file`: the settings file.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Source = Schema.Literals(["default", "environment", "file", "flag"])

/**
 * @category models
 * @since 0.1.0
 */
export type Source = typeof Source.Type

/**
 * A setting that is in force.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EffectiveSetting = Schema.Struct({
  /** Its name, as in the documentation. Most are also a flag: `--port`. */
  name: Schema.String,
  /** Its environment variable. */
  variable: Schema.String,
  /** What it does. */
  description: Schema.String,
  /**
   * Its value as text, without the user names and passwords of URLs. Null: it has none, or it is a
   * secret.
   */
  value: Schema.NullOr(Schema.String),
  /** Whether it is a secret, whose value is never shown. One that is not given has `default`. */
  is_secret: Schema.Boolean,
  source: Source,
  /**
   * The place of its value, such as `"port" on line 2 of gateway.json`. Null: it was not given.
   */
  place: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type EffectiveSetting = { [Field in keyof typeof EffectiveSetting.Type]: (typeof EffectiveSetting.Type)[Field] }

/**
 * The settings of the instance that answered. Empty if the program that runs the service does not
 * tell them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SettingsResponse = Schema.Struct({
  /** All settings, in the order of the documentation. */
  data: Schema.Array(EffectiveSetting),
  /** The instance, as in the list of instances. */
  instance_id: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type SettingsResponse = { [Field in keyof typeof SettingsResponse.Type]: (typeof SettingsResponse.Type)[Field] }

const errors = [BadRequest, Unauthorized, Forbidden, InternalServerError] as const

/**
 * @category operations
 * @since 0.1.0
 */
export const listInstancesOperation = Operation.make("listInstances", "GET", "/instances", {
  access: "management key",
  success: InstancesResponse,
  error: errors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listInstancesEndpoint = Operation.endpoint(listInstancesOperation, () => ({
  reference: {
    summary: "List instances",
    example: {
      response: {
        data: [
          {
            id: "proc_019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11",
            is_current: true,
            version: "0.1.0",
            worker: null,
            started_at: "2026-11-20T22:30:00.000Z",
            last_heartbeat_at: "2026-11-20T23:02:11.000Z",
            checked_at: "2026-11-20T23:02:12.000Z",
            status: "degraded",
            parts: {
              database: { status: "ready" },
              object_store: { status: "degraded", message: "The object store did not answer within 2000 milliseconds." }
            }
          }
        ],
        database: { kind: "postgres", schema_version: 13 }
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listSettingsOperation = Operation.make("listSettings", "GET", "/settings", {
  access: "management key",
  role: "admin",
  success: SettingsResponse,
  error: errors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listSettingsEndpoint = Operation.endpoint(listSettingsOperation, () => ({
  reference: {
    summary: "List settings",
    example: {
      response: {
        data: [
          {
            name: "port",
            variable: "MODEL_GATEWAY_PORT",
            description: "Port to listen on",
            value: "8787",
            is_secret: false,
            source: "default",
            place: null
          },
          {
            name: "cohere-api-key",
            variable: "COHERE_API_KEY",
            description: "API key of Cohere",
            value: null,
            is_secret: true,
            source: "environment",
            place: "COHERE_API_KEY in the environment"
          }
        ],
        instance_id: "proc_019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11"
      }
    }
  }
}))

/**
 * The errors of {@link listInstances} and {@link listSettings}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listInstancesOperation> | ClientError

/**
 * Lists the processes that serve the gateway, with their versions and the states of their parts,
 * and the version of the database's schema.
 *
 * @category calls
 * @since 0.1.0
 */
export const listInstances: Effect.Effect<InstancesResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(listInstancesOperation, {})
)

/**
 * Lists the settings of the instance that answers, and where each comes from. Secrets are left out.
 *
 * @category calls
 * @since 0.1.0
 */
export const listSettings: Effect.Effect<SettingsResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(listSettingsOperation, {})
)
