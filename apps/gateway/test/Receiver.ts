/** A receiver of webhooks over TLS, which verifies them with the package of the standard. */
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { fileURLToPath } from "node:url"
import { Webhook } from "standardwebhooks"
import { listen } from "./Listen.ts"

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

/** The certificate of `localhost`, and its key. */
export const certificate = () => ({
  cert: readFileSync(fixture("receiver.crt")),
  key: readFileSync(fixture("receiver.key"))
})

/** Makes a gateway trust the receiver's certificate, and allows the receiver's address. */
export const environment = {
  NODE_EXTRA_CA_CERTS: fixture("receiver.crt"),
  MODEL_GATEWAY_OUTBOUND_EXEMPT_HOSTS: "localhost"
}

const Job = Schema.Struct({
  id: Schema.String,
  usage: Schema.optionalKey(Schema.Struct({ cost: Schema.Finite }))
})

const Body = Schema.fromJsonString(Schema.Struct({ type: Schema.String, data: Job }))

const decodeBody = Schema.decodeUnknownSync(Body)

/** A webhook that arrived. */
export interface Receipt {
  readonly id: string
  readonly type: string
  /** What the job cost, in credits, if it was completed. */
  readonly cost: number | undefined
}

/** A receiver. */
export interface Receiver {
  readonly url: string
  /** The secret of the workspace. Receipts before it is set are refused. */
  secret: string | undefined
  /** The webhooks of each job. */
  readonly received: ReadonlyMap<string, ReadonlyArray<Receipt>>
}

/** Starts a receiver. It ends with the test. */
export const startReceiver = async (): Promise<Receiver> => {
  const received = new Map<string, Array<Receipt>>()
  const server = createServer(certificate(), (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      const id = String(request.headers["webhook-id"])
      const headers = {
        "webhook-id": id,
        "webhook-timestamp": String(request.headers["webhook-timestamp"]),
        "webhook-signature": String(request.headers["webhook-signature"])
      }
      try {
        new Webhook(receiver.secret ?? "").verify(text, headers)
      } catch {
        response.writeHead(401).end()
        return
      }
      const { data, type } = decodeBody(text)
      received.set(data.id, [...(received.get(data.id) ?? []), { id, type, cost: data.usage?.cost }])
      response.writeHead(204).end()
    })
  })
  const port = await listen(server)
  const receiver: Receiver = { url: `https://localhost:${port}/hook`, secret: undefined, received }
  return receiver
}
