/** `model-gateway byok`: manages the encryption of what callers stored. */
import { ProviderKeys } from "@model-gateway/server/ProviderKeys"
import { DestinationStore } from "@model-gateway/server/DestinationStore"
import { WebhookSecrets } from "@model-gateway/server/WebhookSecrets"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"

const rewrap = Command.make(
  "rewrap",
  Storage.flags,
  Effect.fn("byok rewrap")(function* (input) {
    yield* Storage.withStores(
      input,
      Effect.gen(function* () {
        const providerKeys = yield* ProviderKeys
        const rewrapped = yield* providerKeys.rewrap
        const destinations = yield* (yield* DestinationStore).rewrap
        const webhooks = yield* (yield* WebhookSecrets).rewrap
        if (input.json) return yield* Output.json({ rewrapped, destinations, webhooks })
        if (destinations > 0) {
          yield* Console.log(
            `Encrypted the secrets of ${destinations} broadcast ${destinations === 1 ? "destination" : "destinations"} with the current master key.`
          )
        }
        if (webhooks > 0) {
          yield* Console.log(
            `Encrypted the webhook secrets of ${webhooks} ${webhooks === 1 ? "workspace" : "workspaces"} with the current master key.`
          )
        }
        yield* Console.log(
          rewrapped === 0
            ? "Every provider key is already encrypted with the current master key."
            : `Encrypted ${rewrapped} provider ${rewrapped === 1 ? "key" : "keys"} with the current master key.`
        )
      })
    )
  })
).pipe(
  Command.withDescription(
    "Encrypt every stored provider key, the secrets of every broadcast destination and the secrets of webhooks with the current master key. Afterward the former master keys can be removed. It runs beside a running gateway"
  ),
  Command.withShortDescription("Encrypt every stored secret with the current master key"),
  Command.withExamples([
    { command: "model-gateway byok rewrap", description: "After MODEL_GATEWAY_MASTER_KEY was replaced" }
  ])
)

/** The `byok` command. */
export const command = Command.make("byok").pipe(
  Command.withDescription("Manage the secrets that callers stored"),
  Command.withSubcommands([rewrap])
)
