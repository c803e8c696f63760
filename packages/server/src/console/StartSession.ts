/** Starts sessions for who has proved who it is, and ends them. */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import type { Role } from "@model-gateway/core/Identifiers"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { SqlClient } from "effect/sql/SqlClient"
import * as FailedAuthentications from "../access/FailedAuthentications.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { inTransaction } from "../http/InTransaction.ts"
import { ConsoleSessions, type Kind, type NewSession } from "./ConsoleSessions.ts"
import * as SessionCookie from "./SessionCookie.ts"
import * as SignInLog from "./SignInLog.ts"
import * as Token from "./Token.ts"

/** A person who has no key of the gateway. */
export interface Person {
  readonly kind: Kind
  /** Identifies the person, in records. */
  readonly actor: string
  readonly label: string
  readonly role: Role
  /** Slugs or ids. Undefined: all. */
  readonly workspaces?: ReadonlyArray<string> | undefined
}

/** A person is restricted to at most so many workspaces. */
const maxWorkspaces = 100

const noWorkspace = ({ label }: Person) =>
  new Forbidden({
    error: {
      message: `${phrases[403]}: ${label} may manage some workspaces only, and the gateway has none of these`,
      metadata: { reason: "no_workspace" }
    }
  })

/** Makes the functions from the stores in the context. */
export const make = Effect.gen(function* () {
  const sessions = yield* ConsoleSessions
  const workspaces = yield* WorkspaceStore
  const sql = yield* SqlClient
  const cookie = yield* SessionCookie.make
  const log = yield* SignInLog.make
  const failed = yield* FailedAuthentications.make((yield* GatewayServerConfig).failedAuthentications)

  /** A session of a person, who manages the first organization. */
  const ofPerson = Effect.fnUntraced(function* (person: Person) {
    const { actor, kind, label, role } = person
    const { id, organizationId } = yield* workspaces.ensureDefault()
    let workspaceIds: Array<string> | null = null
    if (person.workspaces !== undefined) {
      workspaceIds = []
      for (const ref of person.workspaces.slice(0, maxWorkspaces)) {
        const found = yield* Effect.catchTag(workspaces.get(organizationId, ref), "WorkspaceNotFound", () =>
          Effect.succeed(undefined)
        )
        if (found !== undefined) workspaceIds.push(found.id)
      }
    }
    if (workspaceIds?.length === 0) return yield* noWorkspace(person)
    const workspaceId = workspaceIds?.[0] ?? id
    const session: NewSession = {
      kind,
      secretHash: null,
      actor,
      label,
      organizationId,
      workspaceId,
      role,
      workspaceIds
    }
    return session
  })

  /** The hash of the session that the browser has. */
  const formerOf = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
    const token = cookie.read(request)
    return token === undefined ? undefined : Token.hashOf(token)
  }

  /**
   * Starts a session. The former one of the browser ends, so that a token that was copied is of no
   * use any more.
   */
  const start = (
    request: HttpServerRequest.HttpServerRequest,
    input: NewSession,
    former: string | undefined = formerOf(request)
  ) =>
    inTransaction(
      sql,
      "StartSession.start",
      Effect.gen(function* () {
        const started = yield* sessions.start(input, log.addressOf(request))
        if (former !== undefined) yield* sessions.end(former)
        yield* log.signedIn(request, started.session)
        return started
      })
    )

  /**
   * Records that a sign-in was refused, and then delays the answer, as those of other failed
   * requests of the address are. The caller may not wait for it.
   */
  const refused = (request: HttpServerRequest.HttpServerRequest, who: SignInLog.Refused) =>
    Effect.andThen(log.refused(request, who), failed(log.addressOf(request)))

  /** Ends the session of the browser, if it has one. */
  const end = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const token = cookie.read(request)
    const session = token === undefined ? undefined : yield* sessions.find(token)
    if (session === undefined) return
    yield* inTransaction(
      sql,
      "StartSession.end",
      Effect.andThen(sessions.end(session.hash), log.signedOut(request, session))
    )
  })

  return { ofPerson, formerOf, start, end, refused }
})

/** The functions. */
export type StartSession = Effect.Success<typeof make>
