import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Periods from "../../src/internal/Periods.ts"

const instants = Schema.Int.check(Schema.isBetween({ minimum: Date.UTC(1900, 0, 1), maximum: Date.UTC(2200, 0, 1) }))
const at = (iso: string) => Date.parse(iso)
const iso = (millis: number) => new Date(millis).toISOString()

describe("Periods", () => {
  it("begin in UTC: the day at 00:00, the ISO week on Monday, the month on its first", () => {
    const sunday = at("2026-11-22T23:59:59.999Z")
    const { day, month, week } = Periods.startsOf(sunday)
    expect([day, week, month].map(iso)).toEqual([
      "2026-11-22T00:00:00.000Z",
      "2026-11-16T00:00:00.000Z",
      "2026-11-01T00:00:00.000Z"
    ])
    expect(iso(Periods.startsOf(sunday + 1).week)).toBe("2026-11-23T00:00:00.000Z")
    expect(iso(Periods.startsOf(at("2027-01-01T00:00:00Z")).week)).toBe("2026-12-28T00:00:00.000Z")
  })

  it("are followed by the next day, Monday or first of a month", () => {
    const last = at("2026-12-31T23:00:00Z")
    expect((["daily", "weekly", "monthly"] as const).map((period) => iso(Periods.nextStartOf(period, last)))).toEqual([
      "2027-01-01T00:00:00.000Z",
      "2027-01-04T00:00:00.000Z",
      "2027-01-01T00:00:00.000Z"
    ])
    expect(iso(Periods.nextStartOf("monthly", at("2027-02-01T00:00:00Z")))).toBe("2027-03-01T00:00:00.000Z")
  })

  it.prop(
    "contain the given instant, and begin at midnight, on a Monday and on the first of a month",
    [instants],
    ([instant]) => {
      const { day, month, week } = Periods.startsOf(instant)
      for (const start of [day, week, month]) {
        expect(start).toBeLessThanOrEqual(instant)
        expect(iso(start)).toMatch(/T00:00:00\.000Z$/)
      }
      expect(instant - day).toBeLessThan(Periods.dayMillis)
      expect(instant - week).toBeLessThan(7 * Periods.dayMillis)
      expect(new Date(week).getUTCDay()).toBe(1)
      expect(new Date(month).getUTCDate()).toBe(1)
      expect(iso(month).slice(0, 7)).toBe(iso(instant).slice(0, 7))
    }
  )
})
