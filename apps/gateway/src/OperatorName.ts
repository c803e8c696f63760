/** The user whom the keys of the command line are created by. */
import { CreateRequest } from "@model-gateway/core/Keys"
import { Effect, Schema } from "effect"
import { userInfo } from "node:os"

/** Whether the API accepts the name as `creator_user_id`. */
export const isUserId = Schema.is(CreateRequest.fields.creator_user_id)

/**
 * The login name of the operating system's user. Null if it has none: a container may run under a
 * user id that no account has.
 */
export const loginName = (read: () => { readonly username: string } = userInfo): Effect.Effect<string | null> =>
  Effect.sync(() => {
    try {
      const { username } = read()
      return isUserId(username) ? username : null
    } catch {
      return null
    }
  })
