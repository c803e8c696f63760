import { Deletion } from "@model-gateway/core/Files"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { confirm, negotiate } from "../../src/dialect/DeletionShape.ts"

const accept = (header: string | undefined) => negotiate({ accept: header, provider: undefined, workspace: "native" })

describe("DeletionShape", () => {
  it.each([
    ["application/json; shape=compat_a", "compat_a"],
    ['application/json;shape="compat_b"', "compat_b"],
    ["text/html, application/json;q=0.9; SHAPE=compat_a", "compat_a"],
    ["*/*; shape=compat_b", "compat_b"],
    ["application/json; shape=compat_a; q=0.1, application/json; shape=compat_b", "compat_b"],
    ["application/json; shape=compat_a, application/json; shape=compat_b", "compat_a"],
    ["application/json; q=0; shape=compat_a", "native"],
    ["application/json", "native"],
    ["application/json; shape=other", "native"],
    ["text/html; shape=compat_a", "native"],
    [undefined, "native"]
  ] as const)("reads %s as %s", (header, shape) => {
    expect(accept(header)).toBe(shape)
  })

  it("is that of Accept, else of the provider, else of the workspace", () => {
    const wishes = { accept: "application/json; shape=native", provider: "provider_a", workspace: "compat_b" } as const
    expect(negotiate(wishes)).toBe("native")
    expect(negotiate({ ...wishes, accept: undefined })).toBe("compat_a")
    expect(negotiate({ ...wishes, accept: undefined, provider: "provider_b" })).toBe("compat_b")
    expect(negotiate({ ...wishes, accept: undefined, provider: undefined })).toBe("compat_b")
  })

  it.each(["native", "compat_a", "compat_b"] as const)("confirms in the contract's form of %s", (shape) => {
    const confirmation = confirm(shape, "file_1")
    expect(Schema.decodeUnknownSync(Deletion)(confirmation)).toEqual(confirmation)
    expect(confirmation).toMatchObject({ _shape: shape, id: "file_1" })
  })
})
