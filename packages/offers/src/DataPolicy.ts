/**
 * What a provider declares of the data in requests, as files state it. The settings file and the
 * catalog of models use it.
 *
 * `expected` of a schema completes "which is not …" in the messages of the executable.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

/**
 * What is left out is not known, and does not count as a promise.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DataPolicy = Schema.Struct({
  training: Schema.optionalKey(
    Schema.Boolean.annotate({ expected: "true or false", description: "Whether it may train models on requests" })
  ),
  retainsPrompts: Schema.optionalKey(
    Schema.Boolean.annotate({
      expected: "true or false",
      description: "Whether it keeps anything of a request after it answered it. false: zero data retention"
    })
  ),
  promptRetentionDays: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      expected: "a number of days above 0",
      description: "After how many days it deletes what it keeps"
    })
  )
}).annotate({
  expected: 'an object such as { "training": false, "retainsPrompts": true, "promptRetentionDays": 30 }'
})

/**
 * @category models
 * @since 0.1.0
 */
export interface DataPolicy extends Schema.Schema.Type<typeof DataPolicy> {}
