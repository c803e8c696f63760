/**
 * The gateway's certificate: read from files at the start, and again when they change. Connections
 * that are open keep the certificate that they began with.
 */
import * as LogEvent from "@model-gateway/server/LogEvent"
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Clock, Duration, Effect } from "effect"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext } from "node:tls"
import { Failure } from "./Failure.ts"

/** Where the files are: absolute paths. */
export interface Files {
  readonly cert: string
  readonly key: string
}

/** The contents of the files, in PEM. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** A pair that a server can use. */
export interface Certificate extends Pair {
  /** When it expires, in milliseconds. */
  readonly validTo: number
}

/** Time before its end in which a certificate is reported. Automatic renewals are earlier. */
const warnBefore = Duration.days(14)

/** Both files are small. Their contents are compared, because a link to them can change, too. */
const lookEvery = Duration.seconds(10)

const fail = (message: string) => Effect.fail(new Failure({ message }))

const readText = (what: string, file: string) =>
  Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (cause) =>
      new Failure({ message: `The ${what} ${file} cannot be read (${String(ErrorCode.of(cause) ?? cause)}).` })
  })

const readPair = ({ cert, key }: Files): Effect.Effect<Pair, Failure> =>
  Effect.all({ cert: readText("certificate", cert), key: readText("key", key) })

const attempt = <A>(make: () => A, message: string) => Effect.try({ try: make, catch: () => new Failure({ message }) })

/** Checks that a server can use the pair. The messages contain nothing of the files. */
const check = Effect.fnUntraced(function* (files: Files, pair: Pair) {
  const certificate = yield* attempt(
    () => new X509Certificate(pair.cert),
    `${files.cert} is not a certificate in PEM format (-----BEGIN CERTIFICATE-----).`
  )
  const key = yield* attempt(
    () => createPrivateKey(pair.key),
    `${files.key} is not a private key in PEM format without a passphrase (-----BEGIN PRIVATE KEY-----).`
  )
  if (!certificate.checkPrivateKey(key)) {
    return yield* fail(`The key in ${files.key} does not belong to the first certificate in ${files.cert}.`)
  }
  yield* attempt(
    () => createSecureContext(pair),
    `The certificate in ${files.cert} cannot be used. Check that the file has the whole chain, and a key of at least 2048 bits (RSA) or 256 bits (elliptic curve).`
  )
  return { ...pair, validTo: Date.parse(certificate.validTo) } satisfies Certificate
})

const warnOfExpiry = Effect.fnUntraced(function* ({ cert }: Files, { validTo }: Certificate) {
  const left = validTo - (yield* Clock.currentTimeMillis)
  if (left > Duration.toMillis(warnBefore)) return
  const at = new Date(validTo).toISOString()
  yield* LogEvent.log(
    "certificate_expires",
    left < 0
      ? `The certificate in ${cert} expired at ${at}. Clients refuse it. Replace the file; no restart is necessary.`
      : `The certificate in ${cert} expires at ${at}. Replace the file; no restart is necessary.`
  )
})

/** Reads and checks the files at the start. */
export const read = (files: Files): Effect.Effect<Certificate, Failure> =>
  Effect.flatMap(readPair(files), (pair) => check(files, pair))

/** What keeps a server's certificate up to date. */
export interface Reloader {
  /** Reads the files now. A certificate that cannot be used is logged, and the old one is kept. */
  readonly reload: Effect.Effect<void>
  /** Looks for changes, and warns once a day of a certificate that expires soon. Never ends. */
  readonly watch: Effect.Effect<never>
}

const isSame = (a: Pair | undefined, b: Pair): boolean => a?.cert === b.cert && a.key === b.key

/** Reloads by `apply`. `initial` is in use. */
export const makeReloader = (files: Files, initial: Certificate, apply: (pair: Pair) => void): Reloader => {
  let current = initial
  /** The last contents that were looked at and are not in use, and whether they were refused. */
  let seen: (Pair & { readonly wasRefused: boolean }) | undefined
  let unreadable: string | undefined

  const use = Effect.fnUntraced(
    function* (pair: Pair) {
      const checked = yield* check(files, pair)
      const at = new Date(checked.validTo).toISOString()
      if (checked.validTo < (yield* Clock.currentTimeMillis)) {
        return yield* fail(`The certificate in ${files.cert} expired at ${at}.`)
      }
      apply(checked)
      current = checked
      seen = undefined
      yield* LogEvent.log(
        "certificate_replaced",
        `New connections get the new certificate in ${files.cert}, which expires at ${at}.`
      )
      yield* warnOfExpiry(files, checked)
    },
    (effect, pair) =>
      Effect.catch(effect, ({ message }) =>
        Effect.suspend(() => {
          seen = { ...pair, wasRefused: true }
          return LogEvent.log("certificate_refused", `${message} The gateway keeps the certificate that it has.`)
        })
      )
  )

  const refuseRead = ({ message }: Failure, always: boolean) =>
    Effect.suspend(() => {
      const isKnown = unreadable === message
      unreadable = message
      return isKnown && !always
        ? Effect.void
        : LogEvent.log("certificate_refused", `${message} The gateway keeps the certificate that it has.`)
    })

  /**
   * Programs write one file after the other, so a change is used when it is seen for the second
   * time.
   */
  const look = readPair(files).pipe(
    Effect.flatMap((pair) => {
      unreadable = undefined
      if (isSame(current, pair)) seen = undefined
      else if (!isSame(seen, pair)) seen = { ...pair, wasRefused: false }
      else if (seen?.wasRefused === false) return use(pair)
      return Effect.void
    }),
    Effect.catch((failure) => refuseRead(failure, false))
  )

  const reload = readPair(files).pipe(
    Effect.flatMap((pair) => (isSame(current, pair) ? Effect.void : use(pair))),
    Effect.catch((failure) => refuseRead(failure, true))
  )

  const warn = Effect.suspend(() => warnOfExpiry(files, current))

  return {
    reload,
    watch: Effect.andThen(
      Effect.forkChild(Effect.forever(Effect.andThen(warn, Effect.sleep("1 day")))),
      Effect.forever(Effect.andThen(Effect.sleep(lookEvery), look))
    )
  }
}
