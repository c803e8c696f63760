/**
 * What the first run leaves for the sample program: the gateway's address and its first two keys, in `sample.env` of the data folder, readable by its
 * owner alone. It is there for a person who tries the gateway on this machine; deleting it takes nothing away.
 */
import type { Bootstrapped } from "@model-gateway/server/workspaces/WorkspaceStore"
import { Effect, FileSystem, Path, Redacted } from "effect"

const address = "MODEL_GATEWAY_BASE_URL"

/** Writes the file on the first run (`made`); later runs only bring its address up to date, where it is still there. A folder that refuses it is no reason not to serve. */
export const write = Effect.fnUntraced(
  function* (dataDir: string, baseUrl: string, made: Bootstrapped | null) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const file = path.join(dataDir, "sample.env")
    if (made === null && !(yield* fs.exists(file))) return
    const lines =
      made === null
        ? (yield* fs.readFileString(file)).split("\n").filter((line) => line !== "" && !line.startsWith(`${address}=`))
        : [
            `MODEL_GATEWAY_API_KEY=${Redacted.value(made.ordinaryKey)}`,
            `MODEL_GATEWAY_MANAGEMENT_KEY=${Redacted.value(made.managementKey)}`
          ]
    yield* fs.writeFileString(file, [`${address}=${baseUrl}`, ...lines, ""].join("\n"), { mode: 0o600 })
  },
  Effect.catch((error) => Effect.logWarning(`The sample will not find its keys by itself: ${error.message}`))
)
