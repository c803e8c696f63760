/** The gateway with the sandbox's models. */
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { serve } from "./serve.ts"

serve(Sandbox.make())
