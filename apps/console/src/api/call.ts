/** Calls of the API with the session's cookie. */
import type { Input, Operation, ReadOperation, Success } from "./Contract.ts"
import { ApiError, base, jsonOf, send } from "./http.ts"
import { recover } from "./session.ts"

interface AnyInput {
  readonly params?: unknown
  readonly query?: unknown
  readonly payload?: unknown
  readonly idempotencyKey?: string
}

type Scalar = string | number | boolean

const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value)

/** Parameters as texts. Those that are undefined are left out. */
const textsOf = (values: unknown): ReadonlyArray<readonly [name: string, value: string]> =>
  Object.entries(values ?? {}).flatMap(([name, value]) => (isScalar(value) ? [[name, String(value)] as const] : []))

const split = (operation: Operation): readonly [method: string, path: string] => {
  const space = operation.indexOf(" ")
  return [operation.slice(0, space), operation.slice(space + 1)]
}

const addressOf = (path: string, { params, query }: AnyInput): URL => {
  const values = new Map(textsOf(params))
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values.get(name) ?? ""))
  const address = new URL(`api${filled}`, base)
  for (const [name, value] of textsOf(query)) address.searchParams.set(name, value)
  return address
}

/** The address of a read operation, for a link that downloads its answer. */
export const linkTo = <O extends ReadOperation>(operation: O, input: Input<O>): string =>
  addressOf(split(operation)[1], input).href

/**
 * Calls an operation and returns the response. If the session has ended, or the operation wants the
 * person to sign in again, it asks for that and repeats the request.
 */
export const request = async (operation: Operation, input: AnyInput, signal?: AbortSignal): Promise<Response> => {
  const [method, path] = split(operation)
  const { idempotencyKey, payload } = input
  const init: RequestInit = {
    method,
    headers: {
      "x-model-gateway-console": "1",
      ...(payload !== undefined && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey })
    },
    ...(payload !== undefined && { body: JSON.stringify(payload) }),
    ...(signal !== undefined && { signal })
  }
  const address = addressOf(path, input)
  try {
    return await send(address, init)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status !== 401 && error.reason !== "reauthenticate") throw error
    await recover(error, signal)
    return send(address, init)
  }
}

/** Calls an operation and returns the JSON of its answer. */
export const call = async <O extends Operation>(
  operation: O,
  input: Input<O> = {},
  signal?: AbortSignal
): Promise<Success<O>> => jsonOf(await request(operation, input, signal))
