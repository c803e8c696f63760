import { expect, it } from "vitest"
import { changeText, mark, rank, toCsv, wordsOf } from "../../src/play/rerank/ranking.ts"

const results = [
  { index: 3, relevance_score: 0.9 },
  { index: 1, relevance_score: 0.5 },
  { index: 0, relevance_score: 0.1 }
]

it("the change of position is from the place in the input", () => {
  expect(rank(results).map(({ change, from, rank: place }) => [place, from, change])).toEqual([
    [1, 4, 3],
    [2, 2, 0],
    [3, 1, -2]
  ])
  expect([3, 0, -2].map(changeText)).toEqual(["up 3", "same", "down 2"])
})

it("whole words of the query are marked, whatever their case and accents", () => {
  const words = wordsOf("Über a CAFÉ?")
  const marked = mark("The cafe über Cafés, uber a café.", words)
  expect(marked.filter(({ isMarked }) => isMarked).map(({ text }) => text)).toEqual(["cafe", "über", "uber", "café"])
  expect(marked.map(({ text }) => text).join("")).toBe("The cafe über Cafés, uber a café.")
})

it("CSV quotes cells, defuses formulas, and has the second ranking beside the first", () => {
  const ranked = rank(results)
  const texts = ["=SUM(A1)", 'say "hi", now', "", "line\nbreak"]
  expect(toCsv(ranked, (index) => texts[index] ?? "").split("\r\n")).toEqual([
    "rank,score,position,change,document",
    '1,0.9,4,3,"line\nbreak"',
    '2,0.5,2,0,"say ""hi"", now"',
    "3,0.1,1,-2,'=SUM(A1)"
  ])
  const other = new Map([[3, { rank: 2, from: 4, change: 2, score: 0.4, index: 3 }]])
  expect(toCsv(ranked.slice(0, 2), () => "x", other).split("\r\n")).toEqual([
    "rank,score,position,change,rank_2,score_2,document",
    "1,0.9,4,3,2,0.4,x",
    "2,0.5,2,0,,,x"
  ])
})
