/**
 * The body of a response, which is read as text or as a stream.
 * Decision 7 says what is gained over Effect's client.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { Readable } from "node:stream"
import { type Coding, decode } from "./contentCoding.ts"

/** A body that can be read once, in one of two ways. Interrupting the reader aborts the request. */
export interface Body {
  readonly text: Effect.Effect<string, Error>
  /** The bytes, with backpressure. */
  readonly readable: () => Readable
}

const textOf = (chunks: ReadonlyArray<Buffer>, size: number): string =>
  (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)).toString("utf8")

/** The number of buffered bytes at which the socket is paused. */
const highWater = 65_536

/** A body as it comes from the socket, buffered until it is read. */
export class ReceivedBody implements Body {
  readonly #controller: Dispatcher.DispatchController
  readonly #chunks: Array<Buffer> = []
  #size = 0
  #end: { readonly error: Error | undefined } | undefined
  #collector: ((error: Error | undefined) => void) | undefined
  #readable: Readable | undefined

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller
  }

  push(chunk: Buffer): void {
    if (this.#readable !== undefined) {
      if (!this.#readable.push(chunk)) this.#controller.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > highWater && this.#collector === undefined) this.#controller.pause()
  }

  finish(error: Error | undefined): void {
    this.#end = { error }
    this.#collector?.(error)
    if (error === undefined) this.#readable?.push(null)
    else this.#readable?.destroy(error)
  }

  /** The whole body as text. It can be read only once. */
  readonly text: Effect.Effect<string, Error> = Effect.callback((resume) => {
    const done = (error: Error | undefined): void =>
      resume(error === undefined ? Effect.succeed(textOf(this.#chunks, this.#size)) : Effect.fail(error))
    if (this.#end !== undefined) return done(this.#end.error)
    this.#collector = done
    this.#controller.resume()
    return Effect.sync(() => this.#controller.abort(new Error("the reader was interrupted")))
  })

  /** The body as a stream with backpressure. */
  readable(): Readable {
    if (this.#readable !== undefined) return this.#readable
    const readable = new Readable({
      read: () => this.#controller.resume(),
      destroy: (error, callback) => {
        if (this.#end === undefined) this.#controller.abort(error ?? new Error("the reader stopped"))
        callback(error)
      }
    })
    this.#readable = readable
    for (const chunk of this.#chunks) readable.push(chunk)
    if (this.#end?.error === undefined) {
      if (this.#end !== undefined) readable.push(null)
    } else {
      readable.destroy(this.#end.error)
    }
    return readable
  }
}

/** A compressed body. It is decoded no faster than it is read. */
export const decoded = (body: Body, codings: ReadonlyArray<Coding>): Body => {
  const readable = (): Readable => decode(body.readable(), codings)
  return {
    readable,
    text: Effect.callback((resume) => {
      const source = readable()
      const chunks: Array<Buffer> = []
      let size = 0
      source
        .on("data", (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
        })
        .on("end", () => resume(Effect.succeed(textOf(chunks, size))))
        .on("error", (error) => resume(Effect.fail(error)))
      return Effect.sync(() => source.destroy())
    })
  }
}
