/**
 * `sample.env` in the data folder: the gateway's address and its first two keys, for the sample
 * program on this machine. Only its owner can read it. Deleting it does not affect the gateway.
 */
import * as LogEvent from "@model-gateway/server/LogEvent"
import type { Bootstrapped } from "@model-gateway/server/WorkspaceStore"
import { Effect, FileSystem, Path, Redacted } from "effect"
import * as Announce from "./Announce.ts"

const address = "MODEL_GATEWAY_BASE_URL"

/** Whether a gateway answers at this base URL. */
const answers = (baseUrl: string): Effect.Effect<boolean> =>
  Effect.tryPromise((signal) =>
    fetch(new URL("/healthz", baseUrl), { signal, redirect: "error", headers: { connection: "close" } })
  ).pipe(
    Effect.map((response) => response.ok),
    Effect.timeout("1 second"),
    Effect.orElseSucceed(() => false)
  )

/**
 * Writes the file on the first run (`made`). Later runs update its address if the file still exists
 * and no gateway answers at the old address. A write error is logged and does not stop the gateway.
 */
export const write = Effect.fnUntraced(
  function* (dataDir: string, baseUrl: string, made: Bootstrapped | null) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const file = path.join(dataDir, "sample.env")
    const save = (lines: ReadonlyArray<string>) =>
      fs.writeFileString(file, [`${address}=${baseUrl}`, ...lines, ""].join("\n"), { mode: 0o600 })
    if (made !== null) {
      return yield* save([
        `MODEL_GATEWAY_API_KEY=${Redacted.value(made.ordinaryKey)}`,
        `MODEL_GATEWAY_MANAGEMENT_KEY=${Redacted.value(made.managementKey)}`
      ])
    }
    if (!(yield* fs.exists(file))) return
    const lines = (yield* fs.readFileString(file)).split("\n").filter((line) => line !== "")
    const isAddress = (line: string) => line.startsWith(`${address}=`)
    const old = lines.find(isAddress)?.slice(address.length + 1)
    if (old === baseUrl) return
    if (old !== undefined && URL.canParse(old) && (yield* answers(old))) {
      return yield* Announce.say("started", `The sample keeps using the gateway at ${old}, which is still running.`)
    }
    yield* save(lines.filter((line) => !isAddress(line)))
  },
  Effect.catch((error) =>
    LogEvent.log(
      "sample_keys_not_written",
      `Could not write sample.env, so the sample cannot find its keys: ${error.message}`
    )
  )
)
