import * as Testing from "@model-gateway/testing"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

it("exports exactly these modules", () => {
  expect(Object.keys(Testing)).toEqual(["Arbitraries", "Contract", "Faults", "GatewayTest", "Recorder", "Samples"])
  const modules = readdirSync(join(import.meta.dirname, "../src")).filter((name) => name.endsWith(".ts"))
  expect(new Set(modules)).toEqual(new Set(["index.ts", ...Object.keys(Testing).map((name) => `${name}.ts`)]))
})

it("internal modules cannot be imported", async () => {
  const specifier = "@model-gateway/testing/internal/endpoint"
  await expect(import(/* @vite-ignore */ specifier)).rejects.toThrow("internal/endpoint")
})

it("depends only on the client and effect, so that it runs in a browser", () => {
  const root = join(import.meta.dirname, "../src")
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
  expect(files.length).toBeGreaterThanOrEqual(10)
  for (const name of files) {
    const text = readFileSync(join(root, name), "utf8")
    for (const [, specifier = ""] of text.matchAll(/^(?:import|export) .* from "([^"]+)"/gm)) {
      const known = /^(effect(\/[\w-]+)*|@model-gateway\/core\/\w+|\.\.?\/[\w/]+\.ts)$/i.test(specifier)
      expect([name, specifier, known]).toEqual([name, specifier, true])
    }
    expect([
      name,
      /\b(process|Buffer|require|__dirname)\b/.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""))
    ]).toEqual([name, false])
  }
})
