/** The settings that are in force, as `/settings` lists them: without secrets. */
import type { EffectiveSetting } from "@model-gateway/core/System"
import * as Setting from "@model-gateway/settings/Setting"
import type { Loaded } from "./LoadSettings.ts"
import * as Settings from "./Settings.ts"
import * as SettingsReload from "./SettingsReload.ts"

const textOf = (setting: Setting.Setting<unknown>, loaded: Loaded): string | undefined => {
  const text = loaded.textOf(setting) ?? setting.defaultText
  return text === undefined ? undefined : Setting.shown(setting, String(text))
}

/**
 * The settings of a process that started with some, and applied others since then: of these, those
 * that need no restart.
 */
export const of = (started: Loaded, applied: Loaded): ReadonlyArray<EffectiveSetting> =>
  Setting.entries(Settings.all).map(({ setting }) => {
    const loaded = SettingsReload.isReloadable(setting) ? applied : started
    return {
      name: setting.name,
      variable: setting.variable,
      description: setting.description,
      value: textOf(setting, loaded) ?? null,
      is_secret: setting.isSecret,
      source: loaded.originOf(setting),
      place: loaded.sourceOf(setting) ?? null
    }
  })
