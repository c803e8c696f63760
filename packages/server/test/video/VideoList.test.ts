import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import type { Request as PageRequest } from "../../src/storage/sql/Page.ts"
import { type Filter, type Scope, VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt, makeUpstream, payer, submit } from "./TestVideo.ts"

/** The identifier of the job with this number, which is submitted in its millisecond. */
const idOf = (n: number) => `video_${n.toString(16).padStart(12, "0")}7aaa8bbbccccddddeeee`

/** Copies of the jobs of two workspaces: 4,500 in the first one, and 10 in the second one. */
const insertCopies = Effect.fnUntraced(function* (first: string, second: string) {
  const sql = yield* SqlClient
  const insert = (from: number, to: number, workspaceId: string) => sql`INSERT INTO video_jobs
    (id, workspace_id, key_hash, status, step, model, provider, upstream_model, reservation_id, is_byok, cost_micro,
     created_at, updated_at, deadline_at, completed_at, candidates, attempts)
    WITH RECURSIVE n(i) AS (SELECT CAST(${from} AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ${to})
    SELECT 'video_' || ${sql.onDialectOrElse({
      pg: () => sql`lpad(to_hex(n.i), 12, '0')`,
      orElse: () => sql`printf('%012x', n.i)`
    })} || '7aaa8bbbccccddddeeee', ${workspaceId},
      CASE WHEN n.i % 500 = 0 THEN 'rare' ELSE 'k' END, CASE WHEN n.i % 1000 = 0 THEN 'failed' ELSE 'completed' END,
      1, CASE WHEN n.i % 500 = 0 THEN 'rare' ELSE 'common' END, provider, upstream_model, reservation_id, is_byok,
      cost_micro, n.i, n.i, deadline_at, n.i, candidates, attempts
    FROM video_jobs CROSS JOIN n WHERE workspace_id = ${first} AND step = 0`
  yield* insert(5001, 5010, second)
  yield* insert(1, 4500, first)
  yield* sql`DELETE FROM video_requests`
  yield* sql`DELETE FROM video_jobs WHERE step = 0`
})

describe.each(databases)("the list of video jobs on $name", ({ create }) => {
  const layer = Layer.unwrap(
    Effect.map(create, (location) =>
      layerAt(location, [makeUpstream().offers], VideoQueue.layerMemory, ObjectStore.layerMemory)
    )
  )

  it.effect("lists each matching job once, by key, model, status and time, of one workspace or all", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const first = yield* (yield* WorkspaceStore).find(by.workspaceId)
      const second = yield* (yield* WorkspaceStore).create(first.organizationId, { name: "b", slug: "b" })
      yield* submit(by)
      yield* insertCopies(first.id, second.id)
      const read = Effect.fnUntraced(function* (scope: Scope, filter: Filter, page: PageRequest = {}) {
        const ids: Array<string> = []
        const cursors: Array<string | undefined> = []
        let after: string | undefined
        do {
          const { items, next } = yield* jobs.list(scope, filter, { ...page, after })
          ids.push(...items.map(({ id }) => id))
          cursors.push((after = next))
        } while (after !== undefined && cursors.length < 100)
        return { ids, cursors }
      })
      const one = { workspaceId: first.id }
      const rare = [4500, 4000, 3500, 3000, 2500, 2000, 1500, 1000, 500].map(idOf)
      const byModel = yield* read(one, { model: "rare" })
      // Each page looks at 2,000 jobs and ends at a time.
      expect(byModel).toEqual({ ids: rare, cursors: ["video_0000000009c5", "video_0000000001f5", undefined] })
      expect((yield* read(one, { keyHash: "rare" })).ids).toEqual(rare)
      const { organizationId } = first
      expect((yield* read({ organizationId }, { keyHash: "rare" })).ids).toEqual(rare)
      expect((yield* read(one, { status: "failed" })).ids).toEqual([4000, 3000, 2000, 1000].map(idOf))
      expect((yield* read({ organizationId }, { status: "failed" })).ids).toEqual([4000, 3000, 2000, 1000].map(idOf))
      expect((yield* read(one, { from: 1000, to: 3000, model: "rare" })).ids).toEqual(
        [2500, 2000, 1500, 1000].map(idOf)
      )
      expect((yield* read(one, { from: 10, to: 13 })).ids).toEqual([12, 11, 10].map(idOf))
      const newest = yield* read({ organizationId, workspaceIds: [second.id] }, {}, { limit: 4 })
      expect(newest.ids).toEqual([5010, 5009, 5008, 5007, 5006, 5005, 5004, 5003, 5002, 5001].map(idOf))
      // The last page goes on to the jobs of other workspaces.
      expect(newest.cursors).toEqual([idOf(5007), idOf(5003), "video_0000000009c7", "video_0000000001f7", undefined])
      expect((yield* read({ organizationId }, {}, { limit: 1000 })).ids).toHaveLength(4510)
      expect(yield* read({ organizationId: "another" }, {})).toMatchObject({ ids: [] })
      expect((yield* read({ workspaceId: first.id, ephemeralHash: "e" }, { status: "failed" })).ids).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("names the keys of an organization, also a deleted one", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { keyHash, workspaceId } = yield* payer()
      const { organizationId } = yield* (yield* WorkspaceStore).find(workspaceId)
      yield* keys.remove(organizationId, keyHash)
      expect(yield* keys.names(organizationId, [keyHash, keyHash, "none"])).toEqual(new Map([[keyHash, "k"]]))
      expect(yield* keys.names("another", [keyHash])).toEqual(new Map())
      expect(yield* keys.names(organizationId, [])).toEqual(new Map())
    }).pipe(Effect.provide(layer))
  )
})
