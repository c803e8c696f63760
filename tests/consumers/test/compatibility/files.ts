import type OpenAI from "openai"
import { expect } from "vitest"
import { type Entry, failureOf } from "./Entry.ts"
import type { CompatibleGateway } from "./Gateways.ts"

const content = "Returns are free within 30 days."

const file = () => new File([content], "returns.txt", { type: "text/plain" })

const containing = (text: string): unknown => expect.stringContaining(text)

const objectContaining = (fields: object): unknown => expect.objectContaining(fields)

/** The shapes of the specification, in the words that are on the wire. */
const words = {
  neutral: { native: "native", compat_a: "compat_a" },
  openrouter: { native: "openrouter", compat_a: "openai" }
}

/** The SDK returns a shape whose word it does not know as it is, in `raw`. */
const known = (gateway: CompatibleGateway, shape: "native" | "compat_a", expected: object) => {
  const _shape = words[gateway.wireNames][shape]
  return gateway.wireNames === "openrouter"
    ? { ...expected, shape: _shape }
    : { isUnknown: true, raw: objectContaining({ _shape }) }
}

const unknownShape = {
  differs: "the SDK does not know the neutral word in `_shape` and returns the response undecoded, in `raw`"
}

const idIn = (value: unknown): string => {
  const found = typeof value === "object" && value !== null && "raw" in value ? value.raw : value
  if (typeof found === "object" && found !== null && "id" in found && typeof found.id === "string") return found.id
  throw new Error(`No id in ${JSON.stringify(value)}`)
}

const stored = {
  type: "file",
  filename: "returns.txt",
  mimeType: "text/plain",
  sizeBytes: content.length,
  downloadable: true
}

const uploaded = async ({ clients }: CompatibleGateway) =>
  idIn(await clients.openrouter.files.upload({ requestBody: { file: file() } }))

/** The client, asking for the shape of its own files. */
const shaped = ({ clients, wireNames }: CompatibleGateway): OpenAI =>
  clients.openai.withOptions({
    defaultHeaders: { Accept: `application/json; shape=${words[wireNames].compat_a}` }
  })

const fileObject = { object: "file", filename: "returns.txt", bytes: content.length, status: "processed" }

const needsShape = 'works with `defaultHeaders: { Accept: "application/json; shape=compat_a" }`'

const withHeader = { differs: needsShape }

const withHeaderOfPreset = { differs: needsShape.replace("compat_a", "openai") }

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "files.upload",
    expectation: unknownShape,
    withWireNames: "works",
    run: async (gateway) => {
      const result = await gateway.clients.openrouter.files.upload({ requestBody: { file: file() } })
      expect(result).toMatchObject(known(gateway, "native", stored))
      const bytes = { fileName: "returns.txt", content: new TextEncoder().encode(content) }
      const again = await gateway.clients.openrouter.files.upload({ requestBody: { file: bytes } })
      expect(again).toMatchObject(known(gateway, "native", stored))
      const json = new File(["[]"], "rates.json", { type: "application/json" })
      const third = await gateway.clients.openrouter.files.upload({ requestBody: { file: json } })
      expect(third).toMatchObject(known(gateway, "native", { filename: "rates.json", sizeBytes: 2 }))
    }
  },
  {
    client: "@openrouter/sdk",
    call: "files.list",
    expectation: unknownShape,
    withWireNames: "works",
    run: async (gateway) => {
      const ids = [await uploaded(gateway), await uploaded(gateway)]
      const { result } = await gateway.clients.openrouter.files.list({ limit: 2 })
      const [older, newer] = ids
      const page = { firstId: newer, lastId: older, data: [{ id: newer }, { id: older }] }
      expect(result).toMatchObject(known(gateway, "native", page))
      const after = await gateway.clients.openrouter.files.list({ limit: 1, afterId: newer })
      expect(after.result).toMatchObject(known(gateway, "native", { data: [{ id: older }] }))
      const before = gateway.clients.openrouter.files.list({ beforeId: newer })
      expect(await failureOf(before)).toMatchObject({ statusCode: 400, message: containing("before_id") })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "files.retrieve",
    expectation: unknownShape,
    withWireNames: "works",
    run: async (gateway) => {
      const fileId = await uploaded(gateway)
      const result = await gateway.clients.openrouter.files.retrieve({ fileId })
      expect(result).toMatchObject(known(gateway, "native", { ...stored, id: fileId }))
    }
  },
  {
    client: "@openrouter/sdk",
    call: "files.download",
    expectation: "works",
    run: async (gateway) => {
      const fileId = await uploaded(gateway)
      const stream = await gateway.clients.openrouter.files.download({ fileId })
      expect(await new Response(stream).text()).toBe(content)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "files.delete",
    expectation: unknownShape,
    withWireNames: "works",
    run: async (gateway) => {
      const fileId = await uploaded(gateway)
      const result = await gateway.clients.openrouter.files.delete({ fileId })
      expect(result).toMatchObject(known(gateway, "native", { id: fileId, type: "file_deleted" }))
    }
  },
  {
    client: "@openrouter/sdk",
    call: "files.retrieve: no such file",
    expectation: "works",
    run: async ({ clients }) => {
      const error = await failureOf(clients.openrouter.files.retrieve({ fileId: "file_none" }))
      expect(error).toMatchObject({ name: "NotFoundResponseError", statusCode: 404, error: { code: 404 } })
    }
  },
  {
    client: "openai",
    call: "files.create",
    expectation: withHeader,
    withWireNames: withHeaderOfPreset,
    run: async (gateway) => {
      const body = { file: file(), purpose: "user_data" } as const
      expect(await shaped(gateway).files.create(body)).toMatchObject({ ...fileObject, purpose: "user_data" })
      expect(await gateway.clients.openai.files.create(body)).toMatchObject({
        _shape: words[gateway.wireNames].native,
        size_bytes: content.length
      })
    }
  },
  {
    client: "openai",
    call: "files.create: expires_after",
    expectation: { differs: "400: files do not expire" },
    run: async (gateway) => {
      const expires_after = { anchor: "created_at", seconds: 3600 } as const
      const error = await failureOf(shaped(gateway).files.create({ file: file(), purpose: "user_data", expires_after }))
      expect(error).toMatchObject({ status: 400, message: containing("expires_after") })
    }
  },
  {
    client: "openai",
    call: "files.list",
    expectation: withHeader,
    withWireNames: withHeaderOfPreset,
    run: async (gateway) => {
      const ids = [await uploaded(gateway), await uploaded(gateway), await uploaded(gateway)]
      const read: Array<string> = []
      for await (const each of shaped(gateway).files.list({ limit: 2 })) {
        expect(each).toMatchObject(fileObject)
        read.push(each.id)
        if (read.length === 3) break
      }
      expect(read).toEqual(ids.toReversed())
      const oldest = await shaped(gateway).files.list({ order: "asc", limit: 1 })
      expect(oldest.data[0]?.created_at).toBeLessThanOrEqual(Date.now() / 1000)
    }
  },
  {
    client: "openai",
    call: "files.list: by purpose",
    expectation: { differs: "400: lists cannot be filtered" },
    run: async (gateway) => {
      const error = await failureOf(shaped(gateway).files.list({ purpose: "batch" }))
      expect(error).toMatchObject({ status: 400, message: containing("purpose") })
    }
  },
  {
    client: "openai",
    call: "files.retrieve",
    expectation: withHeader,
    withWireNames: withHeaderOfPreset,
    run: async (gateway) => {
      const id = await uploaded(gateway)
      const client = shaped(gateway)
      expect(await client.files.retrieve(id)).toMatchObject({ ...fileObject, id })
      expect(await client.files.waitForProcessing(id)).toMatchObject({ id, status: "processed" })
    }
  },
  {
    client: "openai",
    call: "files.content",
    expectation: "works",
    run: async (gateway) => {
      const id = await uploaded(gateway)
      expect(await (await shaped(gateway).files.content(id)).text()).toBe(content)
      expect(await (await gateway.clients.openai.files.content(id)).text()).toBe(content)
    }
  },
  {
    client: "openai",
    call: "files.delete",
    expectation: withHeader,
    withWireNames: withHeaderOfPreset,
    run: async (gateway) => {
      const id = await uploaded(gateway)
      expect(await shaped(gateway).files.delete(id)).toMatchObject({ id, object: "file", deleted: true })
      const error = await failureOf(shaped(gateway).files.delete(id))
      expect(error).toMatchObject({ status: 404, requestID: containing("req_") })
    }
  }
]
