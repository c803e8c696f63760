/** Bodies that are expensive to decode. */
import { ask, type Question } from "../client.ts"
import { arrayOf, type Attack, atOnce, json, mebibyte, outcomeOf, textOf } from "./attack.ts"

const post = (path: string, key: string, body: string): Question => ({
  method: "POST",
  path: `/api/v1${path}`,
  key,
  headers: json,
  body
})

const videoReferences: Attack = {
  name: "video-references",
  title: "POST /videos with 22 MB of input_references",
  bound: "400",
  run: async ({ gateway }) => {
    const body = `{"model":"x","input_references":${arrayOf("1", 22e6)}}`
    return outcomeOf([await ask(gateway.origin, post("/videos", gateway.apiKey, body))], [400])
  }
}

const emptyReferences: Attack = {
  name: "empty-references",
  title: "POST /videos with 2 MiB of {} as input_references",
  bound: "400",
  run: async ({ gateway }) => {
    const body = `{"model":"x","input_references":${arrayOf("{}", 2 * mebibyte)}}`
    return outcomeOf([await ask(gateway.origin, post("/videos", gateway.apiKey, body))], [400])
  }
}

const emptyDocuments: Attack = {
  name: "empty-documents",
  title: "POST /rerank with 2 MiB of {} as documents",
  bound: "400",
  run: async ({ gateway }) => {
    const body = `{"model":"sandbox/bm25","query":"a","documents":${arrayOf("{}", 2 * mebibyte)}}`
    return outcomeOf([await ask(gateway.origin, post("/rerank", gateway.apiKey, body))], [400])
  }
}

const wrongKeys: Attack = {
  name: "wrong-hashes",
  title: "1 MiB of wrong key_hashes, 8 at once",
  bound: "400",
  quick: true,
  run: async ({ gateway, manage }) => {
    const made = await manage("POST", "/guardrails", { name: "hostile" })
    const id = textOf(made, "data", "id")
    const body = `{"key_hashes":${arrayOf("1", mebibyte - 100)}}`
    const answers = await atOnce(8, gateway.origin, () =>
      post(`/guardrails/${id}/assignments/keys`, gateway.managementKey, body)
    )
    return outcomeOf(answers, [400])
  }
}

export const decoding: ReadonlyArray<Attack> = [videoReferences, emptyReferences, emptyDocuments, wrongKeys]
