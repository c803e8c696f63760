import { describe, expect, it } from "@effect/vitest"
import * as SpentBlocks from "../../src/files/SpentBlocks.ts"

const size = 65_536

describe("SpentBlocks", () => {
  it("frees a block whose bytes were all stored, and not before", () => {
    const spent = SpentBlocks.make()
    const block = new Uint8Array(size)
    spent(block.subarray(0, 1000))
    expect(block.length).toBe(size)
    spent(block.subarray(1000))
    expect(block.buffer.detached).toBe(true)
  })

  it("frees one block after the other", () => {
    const spent = SpentBlocks.make()
    const blocks = [new Uint8Array(size), new Uint8Array(size), new Uint8Array(size)]
    for (const block of blocks) spent(block)
    expect(blocks.map(({ buffer }) => buffer.detached)).toEqual([true, true, true])
  })

  it.each([
    ["begins with something else", (block: Uint8Array) => [block.subarray(10)]],
    ["ends with something else", (block: Uint8Array) => [block.subarray(0, size - 1)]],
    ["has a gap", (block: Uint8Array) => [block.subarray(0, 10), block.subarray(20)]],
    ["was stored out of order", (block: Uint8Array) => [block.subarray(10), block.subarray(0, 10)]],
    ["was partly stored twice", (block: Uint8Array) => [block.subarray(0, size / 2), block.subarray(0, size / 2)]]
  ])("leaves alone a block that %s", (_, chunksOf) => {
    const spent = SpentBlocks.make()
    const block = new Uint8Array(size)
    for (const chunk of chunksOf(block)) spent(chunk)
    spent(new Uint8Array(size))
    expect(block.buffer.detached).toBe(false)
  })

  it("leaves alone a block that was interrupted by another", () => {
    const spent = SpentBlocks.make()
    const block = new Uint8Array(size)
    spent(block.subarray(0, 10))
    spent(new Uint8Array(size))
    spent(block.subarray(10))
    expect(block.buffer.detached).toBe(false)
  })

  it("leaves small blocks and shared memory alone", () => {
    const spent = SpentBlocks.make()
    const small = new Uint8Array(100)
    const shared = new Uint8Array(new SharedArrayBuffer(size))
    spent(small)
    spent(shared)
    expect(small.buffer.detached).toBe(false)
    expect(shared.length).toBe(size)
  })
})
