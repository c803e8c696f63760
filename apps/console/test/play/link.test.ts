import { describe, expect, it } from "vitest"
import { formOf, linkTo, selectionOf } from "../../src/play/shared/link.ts"

describe("a link", () => {
  it("holds the form in its fragment, whatever its characters", () => {
    const form = { query: "Was kostet’s? 🙂 +/=&#", documents: "a\nb" }
    const link = new URL(linkTo("https://gateway.example/base/play?operation=video", "rerank", form) ?? "")
    expect([link.pathname, link.search]).toEqual(["/base/play", "?operation=rerank"])
    expect(link.hash).toMatch(/^#form=[\w-]+$/)
    expect(selectionOf(link)).toEqual({ task: "rerank", form })
  })

  it("is not made of a form that is too long", () => {
    expect(linkTo("https://gateway.example/play", "rerank", { documents: "x".repeat(20_000) })).toBeUndefined()
  })

  it("that was cut off, or that somebody made up, opens the empty form", () => {
    const link = linkTo("https://gateway.example/play", "rerank", { query: "some words" }) ?? ""
    expect(formOf(new URL(link.slice(0, -5)).hash)).toBeUndefined()
    expect(formOf(`#form=${btoa('{"query": 1}')}`)).toBeUndefined()
    expect(formOf(`#form=${btoa("[]")}`)).toBeUndefined()
    expect(formOf("#form=%%%")).toBeUndefined()
  })
})

it("the query selects operation and model", () => {
  const of = (search: string) => selectionOf({ search, hash: "" })
  expect(of("?operation=video&model=replicate/google/veo")).toEqual({
    task: "video",
    form: { model: "replicate/google/veo" }
  })
  expect(of("?operation=unknown")).toEqual({ task: "rerank", form: {} })
})
