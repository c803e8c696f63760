/** Whether the fiber changes the schema, which may take long. */
import { Context } from "effect"

export const IsMigrating = Context.Reference<boolean>("@model-gateway/server/storage/sql/IsMigrating", {
  defaultValue: () => false
})
