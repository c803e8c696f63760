/** Decodes the `parameters` of a model, which may come from a settings file. */
import { Effect, Schema } from "effect"
import { InvalidModel } from "../Adapter.ts"
import type { Model } from "../Model.ts"

/**
 * The parameters as an adapter declares them. A field that the adapter does not know is an error.
 */
export const decode = <A, I>(schema: Schema.Codec<A, I>, model: Model): Effect.Effect<A, InvalidModel> =>
  Schema.decodeUnknownEffect(schema)(model.parameters ?? {}, { onExcessProperty: "error" }).pipe(
    Effect.mapError(
      (error) =>
        new InvalidModel({ model, message: `has invalid parameters: ${error.message.replaceAll(/\s+/g, " ")}` })
    )
  )
