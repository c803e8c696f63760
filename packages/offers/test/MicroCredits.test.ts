import { describe, expect, it } from "@effect/vitest"
import { Array as Arr, Option, Schema } from "effect"
import * as MicroCredits from "../src/MicroCredits.ts"

const amounts = Schema.Int.check(Schema.isBetween({ minimum: -(10 ** 15), maximum: 10 ** 15 }))

describe("MicroCredits", () => {
  it.prop(
    "are the same after conversion to credits and back, up to a thousand million credits",
    [amounts],
    ([micro]) => {
      expect(MicroCredits.fromCredits(MicroCredits.toCredits(micro))).toEqual(Option.some(micro))
      const parsed: unknown = JSON.parse(JSON.stringify(MicroCredits.toCredits(micro)))
      expect(MicroCredits.fromCredits(Number(parsed))).toEqual(Option.some(micro))
    }
  )

  it("round fractions of a micro-credit and float errors away", () => {
    expect(MicroCredits.fromCredits(0.1 + 0.2)).toEqual(Option.some(300_000))
    expect(MicroCredits.fromCredits(1.005)).toEqual(Option.some(1_005_000))
    expect(MicroCredits.fromCredits(0.000_000_4)).toEqual(Option.some(0))
    expect(Object.is(Option.getOrThrow(MicroCredits.fromCredits(-0.000_000_1)), 0)).toBe(true)
  })

  it("are rejected if they are not safe integers", () => {
    for (const credits of [Number.NaN, Infinity, -Infinity, 1e10]) {
      expect(Option.isNone(MicroCredits.fromCredits(credits))).toBe(true)
    }
    expect(() => MicroCredits.make(0.5)).toThrow(RangeError)
    expect(() => MicroCredits.subtract(-Number.MAX_SAFE_INTEGER, 1)).toThrow(RangeError)
  })

  it("read as plain decimals on the wire", () => {
    expect(JSON.stringify(MicroCredits.toCredits(100_000))).toBe("0.1")
    expect(JSON.stringify(MicroCredits.toCredits(9_999_999_999))).toBe("9999.999999")
  })

  it("read as decimals without an exponent in texts", () => {
    expect([0, 1, 100_000, 1_500_000, -10_000_000].map(MicroCredits.format)).toEqual([
      "0",
      "0.000001",
      "0.1",
      "1.5",
      "-10"
    ])
  })

  it("add up, and can be sorted and compared", () => {
    const [one, two] = [MicroCredits.make(1), MicroCredits.make(2)]
    expect(MicroCredits.sum(one, two)).toBe(3)
    expect(() => MicroCredits.sum(Number.MAX_SAFE_INTEGER, 1)).toThrow(RangeError)
    expect(Arr.sort([two, one], MicroCredits.Order)).toEqual([one, two])
    expect(MicroCredits.Equivalence(one, MicroCredits.make(1))).toBe(true)
  })

  it("accepts as a limit only whole micro-credits", () => {
    expect(MicroCredits.fromCreditsExact(0.1 + 0.2)).toEqual(Option.some(300_000))
    expect(MicroCredits.fromCreditsExact(0)).toEqual(Option.some(0))
    expect(MicroCredits.fromCreditsExact(999_999_999.999999)).toEqual(Option.some(999_999_999_999_999))
    for (const credits of [1e-9, 0.0000005, 1.0000004])
      expect(MicroCredits.fromCreditsExact(credits)).toEqual(Option.none())
  })
})
