import { describe, expect, it } from "@effect/vitest"
import { Option, Schema } from "effect"
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

  it("accepts as a limit only whole micro-credits", () => {
    expect(MicroCredits.exactly(0.1 + 0.2)).toEqual(Option.some(300_000))
    expect(MicroCredits.exactly(0)).toEqual(Option.some(0))
    expect(MicroCredits.exactly(999_999_999.999999)).toEqual(Option.some(999_999_999_999_999))
    for (const credits of [1e-9, 0.0000005, 1.0000004]) expect(MicroCredits.exactly(credits)).toEqual(Option.none())
  })
})
