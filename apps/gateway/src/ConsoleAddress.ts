/** The address of the console with the token of a one-time link. */
import { Redacted } from "effect"
import type * as LoadSettings from "./LoadSettings.ts"

/** The address at which browsers on this machine find the gateway, without a slash at its end. */
export const localUrl = (
  { host, tls }: Pick<LoadSettings.Ready, "host" | "tls">,
  port: number,
  basePath = ""
): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  const scheme = tls === undefined ? "http" : "https"
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}${basePath}`
}

/** The address at which browsers find it, by the settings. */
export const publicUrl = (settings: LoadSettings.Ready, port: number, basePath = ""): string =>
  settings.console.publicUrl === undefined
    ? localUrl(settings, port, basePath)
    : `${new URL(settings.console.publicUrl).origin}${basePath}`

/**
 * The address of a link. Browsers do not send the part after `#`, so no server and no log has the
 * token, except the page that reads it.
 */
export const ofToken = (base: string, token: Redacted.Redacted<string>): string =>
  `${base}/console/#token=${Redacted.value(token)}`
