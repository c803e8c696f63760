import { assert, describe, it } from "@effect/vitest"
import type { RerankDocument } from "@model-gateway/offers/Rerank"
import { createCanvas } from "@napi-rs/canvas"
import { LinkClient } from "@model-gateway/offers/UpstreamHttp"
import { Effect, Fiber } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Buffer } from "node:buffer"
import { crc32, deflateSync } from "node:zlib"
import { make, maxLinks, maxPixels, maxTotalPixels } from "../src/Colors.ts"
import { read } from "../src/internal/imageFile.ts"

type Format = "image/png" | "image/jpeg"

const uriOf = (bytes: Uint8Array, type = "image/png") => `data:${type};base64,${Buffer.from(bytes).toString("base64")}`

/** A picture of one color, the right part of which has another. */
const bytesOf = (
  format: Format,
  color: string,
  options: {
    readonly size?: readonly [width: number, height: number]
    readonly other?: string
    readonly at?: number
  } = {}
) => {
  const [width, height] = options.size ?? [80, 80]
  const canvas = createCanvas(width, height)
  const context = canvas.getContext("2d")
  context.fillStyle = color
  context.fillRect(0, 0, width, height)
  context.fillStyle = options.other ?? color
  context.fillRect(width * (options.at ?? 1), 0, width, height)
  return format === "image/png" ? canvas.toBuffer("image/png") : canvas.toBuffer("image/jpeg")
}

const image = (...args: Parameters<typeof bytesOf>): RerankDocument => ({ image: uriOf(bytesOf(...args), args[0]) })

const chunk = (name: string, data: Uint8Array): Uint8Array => {
  const bytes = Buffer.alloc(12 + data.length)
  bytes.writeUInt32BE(data.length, 0)
  bytes.write(name, 4, "latin1")
  bytes.set(data, 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length)
  return bytes
}

/** A valid PNG of that size, all black. It has 1 bit for a pixel, so that its file is small. */
const png = (
  width: number,
  height: number,
  data = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height)),
  depth = 1,
  others: ReadonlyArray<Uint8Array> = []
) => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = depth
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    ...others,
    chunk("IDAT", data),
    chunk("IEND", new Uint8Array())
  ])
}

/** The position of a JPEG's frame, which states the size. */
const frameOf = (jpeg: Buffer) => jpeg.indexOf(Buffer.from([0xff, 0xc0]))

const rank = (query: string, documents: ReadonlyArray<RerankDocument>, top_n?: number) =>
  Effect.flatMap(make, (rank) => rank({ query, documents, ...(top_n === undefined ? {} : { top_n }) }))

const order = (query: string, documents: ReadonlyArray<RerankDocument>) =>
  Effect.map(rank(query, documents), ({ results }) => results.map(({ index }) => index))

const scoreOf = (query: string, document: RerankDocument) =>
  Effect.map(rank(query, [document]), ({ results }) => Math.round((results[0]?.relevance_score ?? -1) * 100) / 100)

/** The message of the failure of a call. */
/** A client for links that answers by itself, or fails. */
const linkClient = (
  answerTo: (request: HttpClientRequest.HttpClientRequest) => Response | undefined,
  failureOf: (
    request: HttpClientRequest.HttpClientRequest
  ) => HttpClientError.InvalidUrlError | HttpClientError.TransportError = (request) =>
    new HttpClientError.TransportError({ request })
) =>
  HttpClient.make((request) => {
    const answer = answerTo(request)
    return answer === undefined
      ? Effect.fail(new HttpClientError.HttpClientError({ reason: failureOf(request) }))
      : Effect.succeed(HttpClientResponse.fromWeb(request, answer))
  })

const refusal = (documents: ReadonlyArray<RerankDocument>) =>
  Effect.map(Effect.flip(rank("red", documents)), ({ reason }) => [reason._tag, reason.message])

describe("sandbox/colors", () => {
  for (const format of ["image/png", "image/jpeg"] as const) {
    it.effect(`${format}: ranks by the share of the picture that has the color`, () =>
      Effect.gen(function* () {
        const pictures = [
          image(format, "blue"),
          image(format, "red"),
          image(format, "red", { other: "blue", at: 0.75 }),
          image(format, "red", { other: "blue", at: 0.25 })
        ]
        assert.deepStrictEqual(yield* order("something red", pictures), [1, 2, 3, 0])
        assert.deepStrictEqual(yield* order("Blue!", pictures), [0, 3, 2, 1])
        assert.deepStrictEqual((yield* rank("red", pictures, 1)).results, [{ index: 1, relevance_score: 1 }])
      })
    )
  }

  it.effect("knows each of its colors", () =>
    Effect.gen(function* () {
      const shown = {
        black: "#000000",
        white: "#ffffff",
        gray: "#808080",
        red: "#d01010",
        orange: "#ff8c00",
        brown: "#8b4513",
        yellow: "#ffe000",
        green: "#20a040",
        cyan: "#00ced1",
        blue: "#1030e0",
        purple: "#8020c0",
        pink: "#ff69b4"
      }
      const pictures = Object.values(shown).map((color) => image("image/png", color))
      for (const [at, name] of Object.keys(shown).entries()) {
        const { results } = yield* rank(name, pictures)
        assert.deepStrictEqual([name, results[0]], [name, { index: at, relevance_score: 1 }])
        assert.deepStrictEqual([name, results[1]?.relevance_score], [name, 0])
      }
    })
  )

  it.effect("tells dark from light, and one shape from another", () =>
    Effect.gen(function* () {
      const navy = image("image/jpeg", "#000080", { size: [60, 90] })
      const sky = image("image/png", "#add8e6", { size: [90, 60] })
      const night = image("image/png", "#050505", { size: [70, 70] })
      assert.deepStrictEqual(yield* order("dark blue", [sky, night, navy]), [2, 0, 1])
      assert.deepStrictEqual(yield* order("light blue", [navy, night, sky]), [2, 0, 1])
      assert.deepStrictEqual(yield* order("dark", [sky, navy, night]), [2, 1, 0])
      assert.deepStrictEqual(yield* order("a bright picture", [night, navy, sky]), [2, 1, 0])
      assert.deepStrictEqual(yield* order("portrait", [sky, night, navy]), [2, 0, 1])
      assert.deepStrictEqual(yield* order("landscape", [navy, night, sky]), [2, 0, 1])
      assert.deepStrictEqual(yield* order("square", [navy, sky, night]), [2, 0, 1])
      assert.deepStrictEqual(yield* order("colorful", [night, image("image/png", "red")]), [1, 0])
      assert.deepStrictEqual(yield* order("monochrome", [navy, night]), [1, 0])
    })
  )

  it.effect("takes the mean over the words of the query that say something of an image", () =>
    Effect.gen(function* () {
      const portrait = image("image/png", "red", { size: [40, 80] })
      assert.strictEqual(yield* scoreOf("a red portrait of the king", portrait), 1)
      assert.strictEqual(yield* scoreOf("a red red landscape", portrait), 0.5)
      assert.strictEqual(yield* scoreOf("the king", portrait), 0)
    })
  )

  it.effect("counts transparent parts as white", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* scoreOf("white", image("image/png", "#00000000")), 1)
    })
  )

  it.effect("ranks texts among images, and takes the better of a document's two", () =>
    Effect.gen(function* () {
      const documents = [
        { text: "a red car" },
        { ...image("image/png", "blue"), text: "nothing of it" },
        { ...image("image/png", "blue"), text: "red" },
        image("image/png", "red")
      ]
      const { results, total_tokens } = yield* rank("red", documents)
      const scores = results.toSorted((a, b) => a.index - b.index).map(({ relevance_score }) => relevance_score)
      assert.isAbove(scores[0] ?? 0, 0)
      assert.strictEqual(scores[1], 0)
      assert.isAbove(scores[2] ?? 0, 0)
      assert.strictEqual(scores[3], 1)
      assert.strictEqual(total_tokens, 8)
    })
  )

  it.effect("names the document whose image it does not fetch or cannot read", () =>
    Effect.gen(function* () {
      const whole = { png: bytesOf("image/png", "red"), jpeg: bytesOf("image/jpeg", "red") }
      const flipped = Buffer.from(whole.png)
      flipped[50] = (flipped[50] ?? 0) ^ 1
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>')
      const expected: ReadonlyArray<readonly [image: string, message: string]> = [
        ["https://127.0.0.1:1/a.png", "send a data:image/…;base64, URI, because this gateway fetches no links"],
        ["ftp://example.com/a.png", "send an https:// URL or a data:image/…;base64, URI"],
        [uriOf(svg, "image/svg+xml"), "send a PNG or a JPEG"],
        [uriOf(Buffer.from("hello")), "send a PNG or a JPEG"],
        [uriOf(whole.png.subarray(0, 8)), "the PNG is damaged or incomplete"],
        [uriOf(whole.png.subarray(0, -4)), "the PNG is damaged or incomplete"],
        [uriOf(whole.png.subarray(0, whole.png.length / 2)), "the PNG is damaged or incomplete"],
        [uriOf(flipped), "the PNG is damaged or incomplete"],
        [uriOf(whole.jpeg.subarray(0, 3)), "the JPEG is damaged or incomplete"],
        [uriOf(whole.jpeg.subarray(0, whole.jpeg.length / 2)), "the JPEG is damaged or incomplete"],
        [uriOf(png(0, 10)), "the image has no pixels"]
      ]
      for (const [bad, message] of expected) {
        const documents = [image("image/png", "red"), { text: "red" }, { image: bad }]
        assert.deepStrictEqual(yield* refusal(documents), ["InvalidRequest", `documents.2.image: ${message}`])
      }
    })
  )

  it.effect("fetches links with the client for links, beside data: URIs [spec L4]", () =>
    Effect.gen(function* () {
      const requests: Array<HttpClientRequest.HttpClientRequest> = []
      const client = linkClient((request) => {
        requests.push(request)
        return new Response(bytesOf("image/png", request.url.endsWith("/red.png") ? "red" : "blue"))
      })
      const rank = yield* Effect.provideService(make, LinkClient, client)
      const documents = [
        image("image/png", "blue"),
        { image: "https://example.com/red.png" },
        { image: "https://example.com/blue.png" }
      ]
      const { results } = yield* rank({ query: "red", documents, top_n: 2 })
      assert.deepStrictEqual(results, [
        { index: 1, relevance_score: 1 },
        { index: 0, relevance_score: 0 }
      ])
      assert.deepStrictEqual(
        requests.map(({ headers, method, url }) => [method, url, Object.keys(headers)]),
        [
          ["GET", "https://example.com/red.png", []],
          ["GET", "https://example.com/blue.png", []]
        ]
      )
    })
  )

  it.effect("names the document whose link leads to no image, and bounds bytes, time and number", () =>
    Effect.gen(function* () {
      const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) })
      const answers: Readonly<Record<string, () => Response>> = {
        "/missing": () => new Response("no", { status: 404 }),
        "/moved": () => new Response(null, { status: 302, headers: { location: "https://example.com/red.png" } }),
        "/text": () => new Response("hello"),
        "/endless": () => new Response(endless),
        "/huge": () => new Response(png(200_000, 200_000, Buffer.from([1])))
      }
      const client = linkClient(
        ({ url }) => answers[new URL(url).pathname]?.(),
        (request) =>
          request.url.includes("private")
            ? new HttpClientError.InvalidUrlError({ request })
            : new HttpClientError.TransportError({ request })
      )
      const rank = yield* Effect.provideService(make, LinkClient, client)
      const refused = (links: ReadonlyArray<string>) =>
        Effect.map(
          Effect.flip(rank({ query: "red", documents: [{ text: "red" }, ...links.map((image) => ({ image }))] })),
          ({ message }) => message
        )
      const expected: ReadonlyArray<readonly [link: string, message: string]> = [
        ["https://example.com/missing", "the image cannot be fetched: its host answered with status 404"],
        ["https://example.com/moved", "the link redirects. Send the final link"],
        ["https://example.com/text", "send a PNG or a JPEG"],
        ["https://example.com/endless", "an image by link has at most 8 MiB"],
        ["https://example.com/huge", `the image has 40000000000 pixels. The maximum is ${maxPixels}`],
        ["https://private.example.com/a.png", "the link leads to a host that is not public"],
        ["https://example.com/broken", "the image cannot be fetched"]
      ]
      for (const [link, message] of expected) {
        assert.strictEqual(yield* refused([link]), `documents.1.image: ${message}`)
      }
      assert.strictEqual(
        yield* refused(Array.from({ length: maxLinks + 1 }, () => "https://example.com/missing")),
        `documents: at most ${maxLinks} images are fetched for a request, not ${maxLinks + 1}. Send data: URIs`
      )
      const silent = HttpClient.make(() => Effect.never)
      const waiting = yield* Effect.provideService(make, LinkClient, silent)
      const late = yield* Effect.forkChild(
        Effect.flip(waiting({ query: "red", documents: [{ image: "https://example.com/slow.png" }] }))
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(
        (yield* Fiber.join(late)).message,
        "documents.0.image: the image did not arrive within 10 seconds"
      )
    })
  )

  it.effect("refuses images with too many pixels before it decodes any", () =>
    Effect.gen(function* () {
      // Small files: what they would decode to is not.
      const huge = png(200_000, 200_000, Buffer.from([1]))
      assert.deepStrictEqual(yield* refusal([{ image: uriOf(huge) }]), [
        "InvalidRequest",
        `documents.0.image: the image has 40000000000 pixels. The maximum is ${maxPixels}`
      ])
      const largest = { image: uriOf(png(4096, 4096)) }
      assert.deepStrictEqual(yield* refusal([largest, largest, largest, largest, { image: uriOf(png(1, 1)) }]), [
        "InvalidRequest",
        `documents: the images have more than ${maxTotalPixels} pixels in total`
      ])
      assert.strictEqual(yield* scoreOf("black", largest), 1)
    })
  )

  it.effect("refuses a JPEG with so many scans that decoding takes long", () =>
    Effect.gen(function* () {
      const jpeg = bytesOf("image/jpeg", "red")
      const start = jpeg.indexOf(Buffer.from([0xff, 0xda]))
      const scan = jpeg.subarray(start, -2)
      const withScans = (scans: number) =>
        uriOf(Buffer.concat([jpeg.subarray(0, start), ...Array.from({ length: scans }, () => scan), jpeg.subarray(-2)]))
      assert.deepStrictEqual(yield* refusal([{ image: withScans(33) }]), [
        "InvalidRequest",
        "documents.0.image: the JPEG has more than 32 scans"
      ])
      assert.strictEqual(yield* scoreOf("red", { image: withScans(1) }), 1)
    })
  )

  for (const marker of [0x00, 0x01, 0xd0]) {
    const name = `FF${marker.toString(16).padStart(2, "0")}`
    it.effect(`refuses a JPEG whose real size is hidden behind the marker ${name}`, () =>
      Effect.gen(function* () {
        const jpeg = bytesOf("image/jpeg", "red")
        const at = frameOf(jpeg)
        const frame = jpeg.subarray(at, at + 19)
        // A decoder skips the marker. Who takes what follows for its length finds the second frame.
        const hiding = Buffer.concat(
          [jpeg.subarray(0, at), Buffer.from([0xff, marker]), jpeg.subarray(at)],
          at + 2 + 0xffc0
        )
        const image = uriOf(Buffer.concat([hiding, frame, jpeg.subarray(-2)]), "image/jpeg")
        const message = "documents.0.image: the JPEG is damaged or incomplete"
        assert.deepStrictEqual(yield* refusal([{ image }]), ["InvalidRequest", message])
      })
    )
  }

  it.effect("looks at a photo as it is shown, turned by its orientation", () =>
    Effect.gen(function* () {
      const jpeg = bytesOf("image/jpeg", "red", { size: [90, 60] })
      // An Exif block with one entry: the orientation 6, a quarter turn.
      const exif = "ffe1 0022 457869660000 4d4d002a00000008 0001 0112 0003 00000001 00060000 00000000"
      const turned = [jpeg.subarray(0, 2), Buffer.from(exif.replaceAll(" ", ""), "hex"), jpeg.subarray(2)]
      const photo = { image: uriOf(Buffer.concat(turned), "image/jpeg") }
      assert.strictEqual(yield* scoreOf("red portrait", photo), 1)
      assert.strictEqual(yield* scoreOf("landscape", photo), 0)
    })
  )

  it.effect("does not decompress the texts of a PNG", () =>
    Effect.gen(function* () {
      const text = deflateSync(Buffer.alloc(7_900_000))
      const others = [
        chunk("zTXt", Buffer.concat([Buffer.from("k\0\0"), text])),
        chunk("iTXt", Buffer.concat([Buffer.from("k\0\x01\0\0\0"), text]))
      ]
      const image = uriOf(png(8, 8, undefined, 1, others))
      const file = read(image)
      // The decoder gets the same image without them.
      assert.deepStrictEqual(typeof file === "string" ? file : file.bytes, png(8, 8))
      assert.strictEqual(yield* scoreOf("black", { image }), 1)
    })
  )

  it.effect("an image whose pixels cannot be decoded fails, and the next one is ranked", () =>
    Effect.gen(function* () {
      const ranker = yield* make
      // No PNG has 7 bits for a pixel.
      const broken = { image: uriOf(png(8, 8, undefined, 7)) }
      const { reason } = yield* Effect.flip(ranker({ query: "red", documents: [broken] }))
      assert.strictEqual(reason.message, "documents.0.image: the image cannot be decoded")
      const { results } = yield* ranker({ query: "red", documents: [image("image/jpeg", "red")] })
      assert.strictEqual(results[0]?.relevance_score, 1)
    })
  )
})
