/**
 * The URL of an object store: `s3://bucket/prefix?region=eu-central-1`. It names the place, and
 * never contains credentials.
 */
import * as Setting from "@model-gateway/settings/Setting"
import { Result, Schema } from "effect"

/** A place on an object store that speaks the S3 API. */
export interface S3Location {
  readonly bucket: string
  /** What every key starts with. Empty, or ends with a slash. */
  readonly prefix: string
  /** Undefined: what the standard AWS variables and files say. */
  readonly region: string | undefined
  /** The URL of the service. Undefined: that of AWS in the region. */
  readonly endpoint: string | undefined
  /** Whether the bucket is named in the path, and not in the host name. */
  readonly pathStyle: boolean
}

/** What a URL has to be, to complete "is not …". */
export const allowed =
  "an S3 URL such as s3://bucket/prefix?region=eu-central-1, without credentials: they come from AWS_ACCESS_KEY_ID " +
  "and the other standard AWS variables"

const bucketForm = /^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/
const prefixForm = /^(?:[\w.-]+(?:\/[\w.-]+)*)?$/
const regionForm = /^[a-z0-9-]{1,64}$/
const parameters = ["region", "endpoint", "pathStyle"]

const isEndpoint = (text: string): boolean => {
  const url = URL.parse(text)
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username + url.password + url.search + url.hash === "" &&
    url.pathname === "/"
  )
}

/** Reads the URL. Fails with what is wrong, as a sentence that contains no credentials. */
export const parse = (text: string): Result.Result<S3Location, string> => {
  const url = URL.parse(text)
  if (url === null || url.protocol !== "s3:") return Result.fail("It does not start with s3://")
  if (url.username !== "" || url.password !== "") return Result.fail("It contains credentials")
  if (!bucketForm.test(url.host)) return Result.fail("Its bucket is not 3 to 63 lower-case letters, digits, - and .")
  const prefix = url.pathname.replace(/^\/|\/$/g, "")
  if (!prefixForm.test(prefix))
    return Result.fail("Its prefix has other characters than letters, digits, -, _, . and /")
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name))
  if (unknown !== undefined || url.hash !== "") {
    return Result.fail(`It has something other than ${parameters.join(", ")} after its prefix`)
  }
  const region = url.searchParams.get("region") ?? undefined
  if (region !== undefined && !regionForm.test(region)) return Result.fail("Its region is not a region's name")
  const endpoint = url.searchParams.get("endpoint") ?? undefined
  if (endpoint !== undefined && !isEndpoint(endpoint)) {
    return Result.fail("Its endpoint is not an http or https URL without a path")
  }
  const pathStyle = url.searchParams.get("pathStyle") ?? String(endpoint !== undefined)
  if (pathStyle !== "true" && pathStyle !== "false") return Result.fail("Its pathStyle is not true or false")
  return Result.succeed({
    bucket: url.host,
    prefix: prefix === "" ? "" : `${prefix}/`,
    // Services other than AWS have one region, and most accept this name for it.
    region: region ?? (endpoint === undefined ? undefined : "us-east-1"),
    endpoint: endpoint?.replace(/\/$/, ""),
    pathStyle: pathStyle === "true"
  })
}

/** Such a URL. */
export const ObjectStoreUrl = Schema.String.check(
  Schema.makeFilter((text: string) => {
    const parsed = parse(text)
    return Result.isSuccess(parsed) ? undefined : parsed.failure
  })
)

/** A setting with such a URL. Without it, the value is undefined. */
export const setting = (name: string, options: Setting.Options): Setting.Setting<string | undefined> =>
  Setting.text(name, { ...options, schema: ObjectStoreUrl, allowed, default: undefined })
