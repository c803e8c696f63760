/**
 * Loads a new catalog of models from a file or a URL, checks its checksum or its signature, and
 * writes it in place of the former one.
 */
import type * as Catalog from "@model-gateway/providers/Catalog"
import * as Price from "@model-gateway/offers/Price"
import { type Duration, Effect, Option, Result, Stream } from "effect"
import { HttpClient } from "effect/http"
import { createHash, createPublicKey, type KeyObject, randomUUID, verify } from "node:crypto"
import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import * as CatalogFile from "./CatalogFile.ts"
import { Failure } from "./Failure.ts"
import * as Setting from "@model-gateway/settings/Setting"

/** Where the catalog is, and how it is checked. */
export interface Options {
  /** A file, or an http:// or https:// URL. */
  readonly from: string
  /** Its SHA-256 checksum, in hexadecimal digits. */
  readonly sha256: string | undefined
  /** The file of the Ed25519 key that signed it. */
  readonly publicKey: string | undefined
  /** For each of what is fetched: the catalog, and its signature. */
  readonly timeLimit: Duration.Duration
}

/** The failure of an update. One sentence says why. */
export const refused = (reason: string): Failure => new Failure({ message: `The catalog was not updated: ${reason}.` })

const fail = (reason: string) => Effect.fail(refused(reason))

/** The URL of the source. Undefined for a file. */
const urlOf = (from: string): URL | undefined => {
  const url = URL.parse(from)
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined
}

/** A URL without what may be secret. */
const shown = ({ origin, pathname }: URL): string => `${origin}${pathname}`

/** A source for sentences. */
export const nameOf = (from: string): string => {
  const url = urlOf(from)
  return url === undefined ? from : shown(url)
}

/** What a signature may have: 64 bytes in base64, and a line break. */
const maxSignatureBytes = 1024

const readBody = Effect.fnUntraced(function* (url: URL, maxBytes: number, maxSize: string) {
  const http = yield* HttpClient.HttpClient
  const name = shown(url)
  const response = yield* Effect.catch(http.get(url), () => fail(`${name} cannot be reached`))
  if (response.status >= 300 && response.status < 400) {
    return yield* fail(`${name} redirects to another server: give the URL that it leads to`)
  }
  if (response.status !== 200) return yield* fail(`${name} answered with status ${response.status}`)
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(response.stream, (chunk) => {
    size += chunk.length
    chunks.push(chunk)
    return size > maxBytes ? fail(`${name} is larger than ${maxSize}`) : Effect.void
  }).pipe(
    Effect.catchTag("HttpClientError", ({ reason }) =>
      reason._tag === "EmptyBodyError" ? Effect.void : fail(`the answer of ${name} ended early`)
    )
  )
  return Buffer.concat(chunks)
})

const fetchWithin = (url: URL, timeLimit: Duration.Duration, maxBytes: number, maxSize: string) =>
  Effect.timeoutOrElse(readBody(url, maxBytes, maxSize), {
    duration: timeLimit,
    orElse: () => fail(`${shown(url)} did not answer within ${Setting.formatDuration(timeLimit)}`)
  })

const publicKeyOf = Effect.fnUntraced(function* (file: string): Effect.fn.Return<KeyObject, Failure> {
  const bytes = yield* readFrom(file)
  const key = yield* Effect.try({
    try: () => createPublicKey(Buffer.from(bytes)),
    catch: () => refused(`${file} has no public key in PEM`)
  })
  return key.asymmetricKeyType === "ed25519" ? key : yield* fail(`the key in ${file} is not an Ed25519 key`)
})

/** The signature beside the catalog: the file or URL with `.sig` at the end of its path. */
const readSignature = Effect.fnUntraced(function* ({ from, timeLimit }: Options, url: URL | undefined) {
  if (url === undefined) {
    const file = `${from}.sig`
    const bytes = CatalogFile.readBytes(file)
    return Result.isFailure(bytes)
      ? yield* fail(`the signature ${file} ${bytes.failure}`)
      : { name: file, bytes: bytes.success }
  }
  const beside = new URL(url)
  beside.pathname += ".sig"
  const bytes = yield* fetchWithin(beside, timeLimit, maxSignatureBytes, "1 KiB")
  return { name: shown(beside), bytes }
})

/** The bytes of the source. Fails if the checksum or the signature is wrong. */
export const load = Effect.fnUntraced(function* (options: Options) {
  const { from, publicKey, sha256, timeLimit } = options
  const url = urlOf(from)
  // Neither sentence names the source: it may contain a password.
  if (url === undefined && /^[a-z][a-z\d+.-]*:\/\//i.test(from)) {
    return yield* fail("--from is neither a file nor an http:// or https:// URL")
  }
  if (url !== undefined && `${url.username}${url.password}` !== "") {
    return yield* fail("--from is a URL with a user name or a password, which is not sent")
  }
  if (url !== undefined && sha256 === undefined && publicKey === undefined) {
    return yield* fail("a URL needs --sha256 or --public-key, so that nobody on the way can change prices")
  }
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    return yield* fail("--sha256 is not a checksum of 64 hexadecimal digits")
  }
  const key = publicKey === undefined ? undefined : yield* publicKeyOf(publicKey)
  const bytes =
    url === undefined
      ? yield* readFrom(from)
      : yield* fetchWithin(url, timeLimit, CatalogFile.maxBytes, CatalogFile.maxSize)
  if (sha256 !== undefined) {
    const found = createHash("sha256").update(bytes).digest("hex")
    if (found !== sha256.toLowerCase()) return yield* fail(`its SHA-256 checksum is ${found}, not that of --sha256`)
  }
  if (key !== undefined) {
    const signature = yield* readSignature(options, url)
    const decoded = Buffer.from(Buffer.from(signature.bytes).toString("latin1").trim(), "base64")
    if (decoded.length !== 64 || !verify(null, bytes, key, decoded)) {
      return yield* fail(`${signature.name} is not a signature of it by the key in ${publicKey}`)
    }
  }
  return bytes
})

const readFrom = (file: string): Effect.Effect<Uint8Array, Failure> => {
  const bytes = CatalogFile.readBytes(file)
  return Result.isFailure(bytes) ? fail(`${file} ${bytes.failure}`) : Effect.succeed(bytes.success)
}

/** The name under which the former catalog is kept. */
export const formerName = (file: string): string => `${file}.former`

/** Replaces a file, so that at every moment the former or the new one is there whole. */
const replace = (file: string, bytes: Uint8Array): void => {
  // Not the process id: two commands at once, each in a container, have the same one.
  const written = `${file}.${randomUUID()}.new`
  try {
    writeFileSync(written, bytes, { flag: "wx", mode: 0o644, flush: true })
    renameSync(written, file)
  } finally {
    rmSync(written, { force: true })
  }
}

/** Writes the file, and keeps the former one beside it. Behind a link, what it leads to. */
export const write = (file: string, bytes: Uint8Array): Effect.Effect<void, Failure> =>
  Effect.try({
    try: () => {
      const status = lstatSync(file, { throwIfNoEntry: false })
      const target = status?.isSymbolicLink() === true ? realpathSync(file) : file
      if (status !== undefined) {
        const former = readFileSync(target)
        // Written again, it would replace the one that it came after.
        if (former.equals(bytes)) return
        replace(formerName(file), former)
      }
      replace(target, bytes)
    },
    catch: () => refused(`${file} cannot be written`)
  })

const priceOf = ({ pricing }: Catalog.CatalogModel): Price.Price => Price.fromPricing(pricing)

/** What a new catalog changes, in lines for people. `priceText` writes a price. */
export const changes = (
  former: Option.Option<Catalog.Catalog>,
  now: Catalog.Catalog,
  priceText: (price: Price.Price) => string
): ReadonlyArray<string> => {
  const before = new Map(
    Option.match(former, { onNone: () => [], onSome: ({ models }) => models }).map((model) => [model.publicId, model])
  )
  const ids = new Set(now.models.map(({ publicId }) => publicId))
  const lines: Array<string> = []
  for (const model of now.models) {
    const old = before.get(model.publicId)
    const price = priceText(priceOf(model))
    if (old === undefined) lines.push(`added    ${model.publicId}: ${price}`)
    else if (!isDeepStrictEqual(old.pricing, model.pricing)) {
      lines.push(`price    ${model.publicId}: ${priceText(priceOf(old))} → ${price}`)
    } else if (!isDeepStrictEqual(withoutSource(old), withoutSource(model))) lines.push(`changed  ${model.publicId}`)
  }
  for (const id of before.keys()) if (!ids.has(id)) lines.push(`removed  ${id}`)
  return lines
}

/** When a price was read again, and why it is so, changes nothing for callers. */
const withoutSource = ({ note: _note, source: _source, ...model }: Catalog.CatalogModel) => model
