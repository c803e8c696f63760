import { describe, expect, it } from "vitest"
import { read, readCsv, textOf } from "../../src/play/rerank/documents.ts"

describe("documents from text", () => {
  it("are the lines, without those that are empty", () => {
    const { documents, format } = read("  one, two\n\n three \r\nfour\n", "auto")
    expect([format, documents]).toEqual(["lines", ["one, two", "three", "four"]])
  })

  it("are the column of CSV that has the text, found by its name or chosen", () => {
    const csv = 'id;Text;title\n1;"a ""b""; c\nd";T1\n\n2;second;T2\n'
    expect(read(csv, "auto")).toMatchObject({
      format: "csv",
      columns: ["id", "Text", "title"],
      column: "Text",
      documents: ['a "b"; c\nd', "second"]
    })
    expect(read(csv, "csv", "title").documents).toEqual(["T1", "T2"])
    expect(read("a,b\n1,2", "csv").documents).toEqual(["1"])
  })

  it("of JSON Lines are texts, objects with a text or an image, or the object as JSON", () => {
    const lines = ['"plain"', '{"text": "t", "id": 1}', '{"image": "https://a.example/b.png"}', '{"id": 7}']
    const { documents, format } = read(lines.join("\n"), "auto")
    expect(format).toBe("jsonl")
    expect(documents).toEqual(["plain", "t", { image: "https://a.example/b.png" }, '{"id":7}'])
    expect(documents.map(textOf)).toEqual(["plain", "t", "(image)", '{"id":7}'])
  })

  it("name the line that is wrong", () => {
    expect(read('{"text": "a"}\n\n{"text": ', "jsonl").problem).toBe("Line 3 is not JSON.")
    expect(read("[1]", "jsonl").problem).toBe("Line 1 is neither a text nor an object.")
  })

  it("that begin like JSON but are none are lines", () => {
    expect(read('{curly} text\n"quoted" text', "auto").format).toBe("lines")
  })

  it("of prose with commas are lines", () => {
    expect(read("To be, or not to be\nA text, with a comma", "auto").format).toBe("lines")
  })

  it("keep empty cells, and cells with tabs between them", () => {
    expect(readCsv("a\tb\tc\n1\t\t3")).toEqual([
      ["a", "b", "c"],
      ["1", "", "3"]
    ])
    expect(readCsv("\uFEFFa,b\r\n1,2\r\n")).toEqual([
      ["a", "b"],
      ["1", "2"]
    ])
  })
})
