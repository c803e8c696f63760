/**
 * The gateway with the sandbox's models. Arguments: the URL of Postgres, and the API key of a
 * process that runs on it already. Without a URL it runs on SQLite.
 */
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { serve } from "./serve.ts"

const [databaseUrl, apiKey] = process.argv.slice(2)

serve(Sandbox.make(), { databaseUrl, apiKey })
