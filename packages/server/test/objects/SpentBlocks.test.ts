import { describe, expect, it } from "@effect/vitest"
import * as SpentBlocks from "../../src/objects/SpentBlocks.ts"

const size = 65_536
const blockOf = (bytes = size) => new Uint8Array(bytes)

describe("SpentBlocks", () => {
  it("frees a block when what was stored lies behind it, and not before", () => {
    const spent = SpentBlocks.make()
    const [first, second] = [blockOf(), blockOf()]
    spent.received(first)
    spent.received(second)
    // 100 bytes of the first block were the form's.
    spent.stored(first.subarray(100))
    expect(first.buffer.detached).toBe(false)
    spent.stored(second.subarray(0, 99))
    expect(first.buffer.detached).toBe(false)
    spent.stored(second.subarray(99, 100))
    expect(first.buffer.detached).toBe(true)
    expect(second.buffer.detached).toBe(false)
  })

  it("frees blocks of every size, several at once", () => {
    const spent = SpentBlocks.make()
    const blocks = [blockOf(1), blockOf(1000), blockOf()]
    blocks.forEach(spent.received)
    spent.stored(blockOf(size + 1001))
    expect(blocks.map(({ buffer }) => buffer.detached)).toEqual([true, true, true])
  })

  it("goes by what was stored, not by how the parser cut it", () => {
    const spent = SpentBlocks.make()
    const [first, second] = [blockOf(), blockOf()]
    spent.received(first)
    spent.received(second)
    // The parser held back the last bytes of the first block and gave them out with a copy of the second.
    spent.stored(first.subarray(0, size - 5))
    expect(first.buffer.detached).toBe(false)
    spent.stored(blockOf(size + 5))
    expect([first.buffer.detached, second.buffer.detached]).toEqual([true, true])
  })

  it.each([
    ["begins with something else", () => blockOf().subarray(10)],
    ["ends with something else", () => blockOf().subarray(0, size - 1)],
    ["is shared memory", () => new Uint8Array(new SharedArrayBuffer(size))]
  ])("leaves alone a block that %s", (_, make) => {
    const spent = SpentBlocks.make()
    const block = make()
    const { length } = block
    spent.received(block)
    spent.stored(blockOf(2 * size))
    expect(block.length).toBe(length)
  })

  it("holds on to no more than some blocks that wait in vain", () => {
    const spent = SpentBlocks.make()
    const blocks = Array.from({ length: 100 }, () => blockOf(10))
    blocks.forEach(spent.received)
    spent.stored(blockOf(1000))
    expect(blocks.filter(({ buffer }) => buffer.detached)).toHaveLength(64)
  })
})
