/** Decodes compressed responses: gzip, deflate (zlib or raw) and br. */
import { PassThrough, pipeline, type Readable, type Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib"

/** The `Accept-Encoding` of requests. */
export const accepted = "gzip, deflate, br"

/** A compression, by its `Content-Encoding` name. */
export type Coding = "gzip" | "deflate" | "br"

const names: { readonly [name: string]: Coding } = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate", br: "br" }

/** More codings than this are not decoded: each multiplies what a small response can expand to. */
const maxCodings = 2

/**
 * The codings of a response, in the order in which they were applied. Undefined if it has none, or
 * if one of them is not supported.
 */
export const codingsOf = (header: string | ReadonlyArray<string> | undefined): ReadonlyArray<Coding> | undefined => {
  if (header === undefined) return undefined
  const codings = String(header)
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity")
  const known = codings.flatMap((name) => names[name] ?? [])
  return known.length === 0 || known.length < codings.length || known.length > maxCodings ? undefined : known
}

const noop = (): void => {}

/** Some servers send raw deflate data, without the header of zlib. The first byte tells. */
const inflate = (source: Readable): Readable => {
  const target = new PassThrough()
  source.once("readable", () => {
    const first: unknown = source.read()
    if (!(first instanceof Uint8Array) || first[0] === undefined) return pipeline(source, target, noop)
    source.unshift(first)
    return pipeline(source, (first[0] & 0x0f) === 8 ? createInflate() : createInflateRaw(), target, noop)
  })
  source.once("error", (error) => target.destroy(error))
  target.once("close", () => source.destroy())
  return target
}

const decoders: { readonly [Name in Exclude<Coding, "deflate">]: () => Transform } = {
  gzip: createGunzip,
  br: createBrotliDecompress
}

/** Decodes a body as fast as it is read. Destroying the result destroys the source. */
export const decode = (source: Readable, codings: ReadonlyArray<Coding>): Readable =>
  codings.reduceRight(
    (body: Readable, coding) => (coding === "deflate" ? inflate(body) : pipeline(body, decoders[coding](), noop)),
    source
  )
