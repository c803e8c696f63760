/**
 * Reads the settings again at SIGHUP: upstreams, models, the catalog, secrets and the certificate.
 * If anything is wrong with them, the former ones stay in force.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as LogEvent from "@model-gateway/server/LogEvent"
import { Reload } from "@model-gateway/server/Reload"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect, Queue, Ref } from "effect"
import * as Catalog from "./Catalog.ts"
import type { Failure } from "./Failure.ts"
import * as LoadSettings from "./LoadSettings.ts"
import { OfferedAgain } from "./OfferedAgain.ts"
import * as Settings from "./Settings.ts"
import type * as Tls from "./Tls.ts"

const { anthropicBaseUrl, catalog, upstreams } = Settings.declarations
const { byok, metricsToken } = GatewayServerConfig.declarations

const reloadable = new Set(
  Setting.entries({ anthropicBaseUrl, byok, catalog, metricsToken, upstreams }).map(({ setting }) => setting.variable)
)

/** Whether a reload applies a setting. All others are of the process as it started. */
export const isReloadable = ({ variable }: Setting.Setting<unknown>): boolean => reloadable.has(variable)

/** The names in the documentation of the changed settings that only a restart applies. */
const needingRestart = (loaded: LoadSettings.Loaded, started: LoadSettings.Loaded): ReadonlyArray<string> =>
  loaded
    .changedFrom(started)
    .filter((setting) => !isReloadable(setting))
    .map(({ name }) => name)

interface Options<R> {
  /** Reads the settings. */
  readonly load: Effect.Effect<LoadSettings.Loaded, Failure, R>
  /** The settings with which the process started. */
  readonly started: LoadSettings.Loaded
  /** The settings that were applied last. */
  readonly applied: Ref.Ref<LoadSettings.Loaded>
  /** The certificate, which is in files of its own. */
  readonly certificate: Tls.Reloader | undefined
  /** Asks for it. Those during a reload count as one. */
  readonly signals: Queue.Dequeue<void>
}

const reload = Effect.fnUntraced(
  function* <R>({ applied, load, started }: Options<R>) {
    const loaded = yield* load
    const settings = yield* LoadSettings.read(loaded)
    const secrets = yield* loaded.read(GatewayServerConfig.config)
    const offered = yield* (yield* OfferedAgain)(loaded, settings)
    const { fileProviders, makeVideoOffer, offers } = offered
    yield* (yield* Reload)({ offers, fileProviders, makeVideoOffer, secrets })
    yield* Ref.set(applied, loaded)
    yield* LogEvent.log("settings_reloaded", `The settings were read again.\n${Catalog.summary(offered)}`)
    const changed = needingRestart(loaded, started)
    if (changed.length > 0) {
      yield* LogEvent.log("restart_needed", `These settings were changed and need a restart: ${changed.join(", ")}`)
    }
  },
  Effect.catch(({ message }: Failure) =>
    LogEvent.log(
      "settings_not_reloaded",
      `The settings were not read again, and the former ones stay in force: ${message}`
    )
  )
)

/** Reads them again at each signal until the scope closes. */
export const onSignal = Effect.fnUntraced(function* <R>(options: Options<R>) {
  yield* Queue.take(options.signals).pipe(
    Effect.andThen(options.certificate?.reload ?? Effect.void),
    Effect.andThen(reload(options)),
    Effect.forever,
    Effect.forkScoped
  )
})
