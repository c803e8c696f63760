import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { webhookBody } from "../../src/broadcast/Sender.ts"
import { event, options } from "./TestEvent.ts"

const own = { provider: "fal", outcome: "Success", seconds: 0.1, billed: "yes", is_byok: true } as const

const Body = Schema.Struct({ data: Schema.Struct({ attempts: Schema.Array(Schema.Json) }) })
const decode = Schema.decodeSync(Schema.fromJsonString(Body))

it("a webhook has the start of an attempt as a timestamp, and `is_byok` only if the destination asks for that", () => {
  const sent = event({ attempts: [{ ...own, started_at: 1_800_000_000_100 }] })
  const { is_byok, ...rest } = { ...own, started_at: "2027-01-15T08:00:00.100Z" }
  expect(decode(webhookBody(sent, options())).data.attempts).toEqual([rest])
  const asked = options({ broadcast_generation_cost: true })
  expect(decode(webhookBody(sent, asked)).data.attempts).toEqual([{ ...rest, is_byok }])
})
