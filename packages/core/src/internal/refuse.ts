/** Refuses a request before it is sent, with the error that the service would return. */
import * as Effect from "effect/Effect"
import { BadRequest } from "../GatewayError.ts"
import type { Operation } from "../Operation.ts"
import { invalidRequest } from "./description.ts"

export const refuse = (operation: Operation, path: string, message: string): Effect.Effect<never, BadRequest> =>
  Effect.suspend(() =>
    Effect.fail(
      Object.assign(
        new BadRequest({
          error: { message: `${invalidRequest}: ${path}: ${message}`, metadata: { issues: [{ path, message }] } }
        }),
        { operation: operation.identifier, attempts: 0 }
      )
    )
  )
