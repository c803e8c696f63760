import { describe, expect, it } from "@effect/vitest"
import { HttpClientRequest } from "effect/http"
import { addressOf } from "../../src/internal/address.ts"

const url = "http://127.0.0.1:8787/api/v1/files"

describe("the address of a request", () => {
  it("has the request's own query, whatever was requested at its URL before", () => {
    const request = HttpClientRequest.get(url)
    const path = "/api/v1/files"
    expect(addressOf(request)).toEqual({ origin: "http://127.0.0.1:8787", path })
    for (const after of ["a", "b"]) {
      expect(addressOf(HttpClientRequest.setUrlParam(request, "after", after))?.path).toBe(`${path}?after=${after}`)
    }
    expect(addressOf(HttpClientRequest.get(`${url}?after=c`))?.path).toBe(`${path}?after=c`)
    expect(addressOf(request)?.path).toBe(path)
  })

  it("is right for more URLs than are kept", () => {
    for (const round of [1, 2]) {
      for (let at = 0; at < 150; at++) {
        expect([round, addressOf(HttpClientRequest.get(`${url}/${at}`))?.path]).toEqual([round, `/api/v1/files/${at}`])
      }
    }
  })

  it("is undefined if the URL is invalid, each time", () => {
    for (let time = 0; time < 2; time++) expect(addressOf(HttpClientRequest.get("http://:0/"))).toBeUndefined()
  })
})
