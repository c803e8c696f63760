import { Result } from "effect"
import { describe, expect, it } from "vitest"
import * as ObjectStoreUrl from "../../../src/storage/s3/ObjectStoreUrl.ts"

describe("the URL of an object store", () => {
  it("names a bucket of AWS, whose region may come from elsewhere", () => {
    expect(ObjectStoreUrl.parse("s3://my-bucket")).toEqual(
      Result.succeed({ bucket: "my-bucket", prefix: "", region: undefined, endpoint: undefined, pathStyle: false })
    )
  })

  it("has a prefix with or without a slash at its end, and a region", () => {
    for (const url of ["s3://my-bucket/a/b?region=eu-central-1", "s3://my-bucket/a/b/?region=eu-central-1"]) {
      expect(ObjectStoreUrl.parse(url)).toMatchObject(
        Result.succeed({ bucket: "my-bucket", prefix: "a/b/", region: "eu-central-1" })
      )
    }
  })

  it("names another service, with the bucket in the path unless it says otherwise", () => {
    const endpoint = "https://minio.internal:9000"
    expect(ObjectStoreUrl.parse(`s3://my-bucket?endpoint=${endpoint}/`)).toMatchObject(
      Result.succeed({ region: "us-east-1", endpoint, pathStyle: true })
    )
    expect(ObjectStoreUrl.parse(`s3://my-bucket?endpoint=${endpoint}&pathStyle=false&region=auto`)).toMatchObject(
      Result.succeed({ region: "auto", endpoint, pathStyle: false })
    )
  })

  it.each([
    ["", "It does not start with s3://"],
    ["https://my-bucket.s3.amazonaws.com", "It does not start with s3://"],
    ["s3://key:secret@my-bucket", "It contains credentials"],
    ["s3://key@my-bucket", "It contains credentials"],
    ["s3://a", "Its bucket is not 3 to 63 lower-case letters, digits, - and ."],
    ["s3://My_Bucket", "Its bucket is not 3 to 63 lower-case letters, digits, - and ."],
    ["s3://my-bucket/a b", "Its prefix has other characters than letters, digits, -, _, . and /"],
    ["s3://my-bucket//a", "Its prefix has other characters than letters, digits, -, _, . and /"],
    ["s3://my-bucket?secret=hunter2", "It has something other than region, endpoint, pathStyle after its prefix"],
    ["s3://my-bucket#hunter2", "It has something other than region, endpoint, pathStyle after its prefix"],
    ["s3://my-bucket?region=EU%20Central", "Its region is not a region's name"],
    ["s3://my-bucket?endpoint=minio:9000", "Its endpoint is not an http or https URL without a path"],
    ["s3://my-bucket?endpoint=https://a:b@minio", "Its endpoint is not an http or https URL without a path"],
    ["s3://my-bucket?endpoint=https://minio/path", "Its endpoint is not an http or https URL without a path"],
    ["s3://my-bucket?pathStyle=yes", "Its pathStyle is not true or false"]
  ])("%s is rejected with the reason", (url, reason) => {
    expect(ObjectStoreUrl.parse(url)).toEqual(Result.fail(reason))
  })
})
