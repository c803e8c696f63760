import { expect, it } from "@effect/vitest"
import * as FailureSampling from "../../src/requests/FailureSampling.ts"

const { perMinute, perSource } = FailureSampling

const fill = (sampling: FailureSampling.FailureSampling, source: string, isKnown: boolean, count: number) =>
  Array.from({ length: count }, (_, n) => sampling.take({ source, isKnown, id: `${source}-${n}` })).filter(Boolean)
    .length

it("records the first failures of a source and counts the others in the last of them", () => {
  const sampling = FailureSampling.make(0)
  expect(fill(sampling, "a", true, perSource + 7)).toBe(perSource)
  expect(fill(sampling, "b", true, 1)).toBe(1)
  expect(sampling.next(59_999)).toBeUndefined()
  expect(sampling.next(60_000)).toEqual({ omissions: [{ id: `a-${perSource - 1}`, omitted: 7 }], others: 0 })
  expect(fill(sampling, "a", true, 1)).toBe(1)
})

it("leaves room for callers however many strangers fail", () => {
  const sampling = FailureSampling.make(0)
  let strangers = 0
  for (let n = 0; n < 10_000; n++) strangers += fill(sampling, `address-${n}`, false, 1)
  expect(strangers).toBe(perMinute.unknown)
  expect(fill(sampling, "key", true, 1)).toBe(1)
  expect(sampling.next(60_000)).toEqual({ omissions: [], others: 10_000 - perMinute.unknown })
})

it("records a bounded number of all callers", () => {
  const sampling = FailureSampling.make(0)
  let callers = 0
  for (let n = 0; n < 1000; n++) callers += fill(sampling, `key-${n}`, true, 2)
  expect(callers).toBe(perMinute.known)
})
