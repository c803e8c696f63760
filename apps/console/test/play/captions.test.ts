import { describe, expect, it } from "vitest"
import { cues, paragraphs, shortClock, toSrt, toText, toVtt, wordAt } from "../../src/play/transcription/captions.ts"

const word = (text: string, start: number, end: number) => ({ word: text, start, end })

const words = [word("Hello", 0, 0.4), word("there.", 0.5, 0.9), word("Second", 3, 3.4), word("part", 3.5, 3.9)]

describe("paragraphs", () => {
  it("are the segments, with the words that lie in them", () => {
    const segments = [
      { text: " Hello there. ", start: 0, end: 1, speaker: 0 },
      { text: "Second part", start: 2.9, end: 4, speaker: 1 }
    ]
    const found = paragraphs({ text: "", segments, words })
    expect(found.map(({ speaker, text, words }) => [text, speaker, words.map((each) => each.text)])).toEqual([
      ["Hello there.", 0, ["Hello", "there."]],
      ["Second part", 1, ["Second", "part"]]
    ])
  })

  it("have the punctuation of the text between the words, or spaces if the words are others", () => {
    const all = [word("Hello", 0, 0.4), word("there", 0.5, 0.9)]
    const of = (text: string) =>
      paragraphs({ text: "", words: all, segments: [{ text, start: 0, end: 1 }] })[0]?.words.map(
        (each) => each.before + each.text
      )
    expect(of("Hello, there!")).toEqual(["Hello", ", there!"])
    expect(of("Hellothere")).toEqual(["Hello", "there"])
    expect(of("hi there")).toEqual([" Hello", " there"])
  })

  it("begin at pauses if there are no segments", () => {
    expect(paragraphs({ text: "", words }).map(({ end, start, text }) => [start, end, text])).toEqual([
      [0, 0.9, "Hello there."],
      [3, 3.9, "Second part"]
    ])
  })

  it("are one if there are no times, and none without text", () => {
    expect(paragraphs({ text: "All of it", duration: 2, words: [{ word: "All" }] })).toEqual([
      { start: 0, end: 2, text: "All of it", words: [] }
    ])
    expect(paragraphs({ text: " ", segments: [{ text: "", start: 0, end: 1 }] })).toEqual([])
  })
})

it("the word at a time is the last that has begun", () => {
  const list = paragraphs({ text: "", words }).flatMap((paragraph) => paragraph.words)
  expect([-1, 0, 0.45, 0.5, 2, 3, 99].map((time) => wordAt(list, time))).toEqual([-1, 0, 0, 1, 1, 2, 3])
})

it.each([0.3, 1])("captions are short enough to read, with a word every %s seconds", (every) => {
  const many = Array.from({ length: 60 }, (_, at) => word(`word${at}`, at * every, at * every + 0.2))
  const made = cues(paragraphs({ text: "", words: many, segments: [{ text: "long", start: 0, end: 60 * every }] }))
  expect(made.length).toBeGreaterThan(3)
  for (const { end, start, text } of made) {
    expect(text.length).toBeLessThanOrEqual(84)
    expect(end - start).toBeLessThanOrEqual(7)
  }
  expect(made.map(({ text }) => text).join(" ")).toBe(many.map((each) => each.word).join(" "))
})

it("SRT, VTT and text have their forms", () => {
  const all = paragraphs({
    text: "",
    segments: [
      { text: "a < b & c", start: 3661.0456, end: 3662 },
      { text: "d", start: 3663, end: 3664 }
    ]
  })
  expect(toSrt(all)).toBe("1\n01:01:01,046 --> 01:01:02,000\na < b & c\n\n2\n01:01:03,000 --> 01:01:04,000\nd\n")
  expect(toVtt(all)).toBe(
    "WEBVTT\n\n01:01:01.046 --> 01:01:02.000\na &lt; b &amp; c\n\n01:01:03.000 --> 01:01:04.000\nd\n"
  )
  expect(toText(all)).toBe("a < b & c\n\nd\n")
  expect([5.9, 65, 3605].map(shortClock)).toEqual(["0:05", "1:05", "1:00:05"])
})
