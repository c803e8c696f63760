/** What the settings say of the console, as the service takes it. */
import type * as GatewayServer from "@model-gateway/server/GatewayServer"
import { Effect } from "effect"
import { Failure } from "./Failure.ts"
import type * as LoadSettings from "./LoadSettings.ts"
import * as Settings from "./Settings.ts"

/** Whether a browser keeps the cookie of a session without HTTPS, as the console decides it. */
const isThisMachine = (host: string): boolean => /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(host)

/** Fails if a setting lacks another one that it needs, or contradicts it. */
export const check = Effect.fnUntraced(function* (
  { sourceOf }: LoadSettings.Loaded,
  { console }: LoadSettings.Ready,
  trustedProxies: ReadonlyArray<unknown>
) {
  const { oidc, proxy, publicUrl } = console
  const declared = Settings.declarations.console
  const missing = [
    ...(oidc.clientId === undefined ? [declared.oidc.clientId] : []),
    ...(publicUrl === undefined ? [declared.publicUrl] : [])
  ]
  if (oidc.issuer !== undefined && missing.length > 0) {
    const names = missing.map(({ name }) => `--${name}`).join(" and ")
    return yield* new Failure({ message: `${sourceOf(declared.oidc.issuer)} needs ${names}.` })
  }
  if (oidc.issuer !== undefined && publicUrl !== undefined) {
    const { hostname, protocol } = new URL(publicUrl)
    if (protocol === "http:" && !isThisMachine(hostname)) {
      return yield* new Failure({
        message: `${sourceOf(declared.publicUrl)} must be an https URL, except at localhost: a browser would not keep a sign-in by --${declared.oidc.issuer.name}.`
      })
    }
  }
  if (proxy.userHeader !== undefined && trustedProxies.length === 0) {
    return yield* new Failure({
      message: `${sourceOf(declared.proxy.userHeader)} needs --trusted-proxies: the header is believed of these only.`
    })
  }
})

/** The console of the service. Undefined: it is switched off. */
export const optionsOf = (
  { console, hasConsole }: LoadSettings.Ready,
  basePath = ""
): GatewayServer.Options["console"] => {
  const { oidc, proxy, publicUrl } = console
  const { clientId, issuer, userHeader } = { ...oidc, ...proxy }
  return hasConsole
    ? {
        openIdConnect:
          issuer === undefined || clientId === undefined || publicUrl === undefined
            ? undefined
            : {
                ...oidc,
                issuer,
                clientId,
                redirectUri: `${new URL(publicUrl).origin}${basePath}/console/session/openid-connect/callback`
              },
        proxy: userHeader === undefined ? undefined : { ...proxy, userHeader }
      }
    : undefined
}
