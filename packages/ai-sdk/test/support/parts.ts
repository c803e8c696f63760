/** Vitest's matchers of a part of a value. Their own type is `any`. */
import { expect } from "vitest"

export const containing = (text: string): unknown => expect.stringContaining(text)

export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)

export const near = (value: number): unknown => expect.closeTo(value, 2)

export const some = (constructor: StringConstructor | NumberConstructor | DateConstructor): unknown =>
  expect.any(constructor)
