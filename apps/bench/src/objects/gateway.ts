/** The gateway without models. Argument: the URL of an object store. Without it, a local folder. */
import { Effect } from "effect"
import { serve } from "../service/serve.ts"

const [objectStoreUrl] = process.argv.slice(2)

serve(Effect.succeed([]), { objectStoreUrl })
