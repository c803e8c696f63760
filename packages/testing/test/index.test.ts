import * as Testing from "@model-gateway/testing"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

it("the public surface is this and no more", () => {
  expect(Object.keys(Testing)).toEqual(["Arbitraries", "Faults", "GatewayTest", "Operation", "Recorder", "Samples"])
  const modules = readdirSync(join(import.meta.dirname, "../src")).filter((name) => name.endsWith(".ts"))
  expect(new Set(modules)).toEqual(new Set(["index.ts", ...Object.keys(Testing).map((name) => `${name}.ts`)]))
})

it("what is internal stays internal", async () => {
  const specifier = "@model-gateway/testing/internal/endpoint"
  await expect(import(/* @vite-ignore */ specifier)).rejects.toThrow()
})
