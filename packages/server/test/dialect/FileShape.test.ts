import { describe, expect, it } from "@effect/vitest"
import * as FileShape from "../../src/dialect/FileShape.ts"

const file = {
  id: "file_011C1",
  filename: "a.txt",
  mime_type: "text/plain",
  size_bytes: 5,
  created_at: "2026-11-24T12:00:00Z"
}

const page = { data: [file], has_more: true, first_id: file.id, last_id: file.id }

describe("a list of files", () => {
  it("names what the next page follows in each shape, also if it is no file's id", () => {
    const shapes = ["native", "compat_a", "compat_b"] as const
    const nextOf = (cursor: object) =>
      shapes.map((shape) => {
        const list = FileShape.list(shape, { ...page, ...cursor }, "ws_1")
        return "cursor" in list ? list.cursor : list.last_id
      })
    expect(nextOf({})).toEqual([file.id, file.id, file.id])
    expect(nextOf({ cursor: "page_2" })).toEqual(["page_2", "page_2", "page_2"])
    expect(nextOf({ has_more: false })).toEqual([null, file.id, file.id])
    expect(FileShape.list("native", { ...page, cursor: "page_2" }, "ws_1").last_id).toBe(file.id)
  })
})
