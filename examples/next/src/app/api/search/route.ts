import { gateway, route } from "../../server.ts"

const articles = ["Reset a forgotten password", "Change your billing address", "Close your account"]

export const GET = route(async (request) => {
  const { searchParams } = new URL(request.url)
  const model = searchParams.get("model") ?? "sandbox/bm25"
  const search = { model, query: searchParams.get("q") ?? "", documents: articles, top_n: 2 }
  const { results } = await (await gateway()).rerank(search, { signal: request.signal })
  return Response.json(results.map(({ document }) => document.text))
})
