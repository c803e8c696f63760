import * as Settings from "@model-gateway/settings"
import { expect, it } from "vitest"

it("exports exactly these modules, each with a subpath", async () => {
  expect(Object.keys(Settings).toSorted()).toEqual(["Nearest", "Setting"])
  for (const [name, module] of Object.entries(Settings)) {
    expect(await import(`@model-gateway/settings/${name}`)).toBe(module)
  }
})
