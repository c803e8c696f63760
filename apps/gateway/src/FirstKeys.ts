/**
 * The keys of the first run: printed where a person reads them, else in a file of the data folder
 * that only its owner can read. A log that others collect never has them.
 */
import * as LogEvent from "@model-gateway/server/LogEvent"
import { Effect, FileSystem, Path } from "effect"
import * as Announce from "./Announce.ts"

/** The name of the file in the data folder. */
export const fileName = "first-keys.txt"

/**
 * Announces the first run. `keys` is the text with the keys. With `auto` it is printed if standard
 * output is a terminal.
 */
export const announce = Effect.fnUntraced(function* (
  { dataDir, firstKeys }: { readonly dataDir: string; readonly firstKeys: "auto" | "stdout" | "file" },
  created: string,
  keys: string
) {
  if (firstKeys === "stdout" || (firstKeys === "auto" && process.stdout.isTTY)) {
    return yield* Announce.say("first_run", `\n${created} The keys are shown only once:\n\n${keys}`)
  }
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(dataDir, fileName)
  yield* fs.writeFileString(file, keys, { mode: 0o600 }).pipe(
    Effect.andThen(
      Announce.say(
        "first_run",
        `${created} They are in ${file}, which only its owner can read. Store them elsewhere and delete the file.`
      )
    ),
    Effect.catch((error) =>
      LogEvent.log(
        "first_keys_not_written",
        `${created} They could not be written to ${file}: ${error.message}. model-gateway keys create makes others.`
      )
    )
  )
})
