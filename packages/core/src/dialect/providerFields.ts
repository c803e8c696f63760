/** What OpenRouter's API shows of a provider and this service does not know. */
import * as Schema from "effect/Schema"
import { fixed } from "./fixed.ts"

export const providerFields = {
  /** Always null. */
  privacy_policy_url: fixed(Schema.Null, null),
  /** Always null. */
  terms_of_service_url: fixed(Schema.Null, null),
  /** Always null. */
  status_page_url: fixed(Schema.Null, null),
  /** Always null. */
  headquarters: fixed(Schema.Null, null),
  /** Always null. */
  datacenters: fixed(Schema.Null, null)
}
