/** On Cloudflare's workerd. */
import { serve } from "./program.js"

let handle

export default { fetch: (request, bindings) => (handle ??= serve(bindings))(request) }
