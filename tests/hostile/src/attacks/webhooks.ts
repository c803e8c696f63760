/** What receivers of webhooks do to the webhooks of others. */
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { answer, exempt, silent } from "../doubles.ts"
import { type Attack, milliseconds, pause, type Target, textOf } from "./attack.ts"

const workspaces = 4

const each = 200

/** Deliveries as jobs that have ended write them: `count` of them, to several hosts of one URL. */
const deliveries = async (
  { gateway, query, store }: Target,
  workspace: string,
  count: number,
  url: string
): Promise<void> => {
  const now = Date.now()
  const statement = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO webhook_deliveries
      (id, workspace_id, job_id, type, url, host, body, status, tries, due_at, created_at)
    SELECT 'evt_${workspace}_' || n, '${workspace}', 'video_' || n, 'video.completed', '${url}', 'host' || (n % 20), '{}',
      'pending', 0, 0, ${now} FROM numbers`
  if (store === "postgres") return void (await query(statement))
  const database = new DatabaseSync(join(gateway.dataDir, "gateway.db"), { timeout: 10_000 })
  try {
    database.exec(statement)
  } finally {
    database.close()
  }
}

const silentReceivers: Attack = {
  name: "silent-receivers",
  title: `${workspaces} workspaces have ${each} webhooks each to receivers that hang; another one has 1, twice`,
  bound: "the other workspace's webhook arrives within 5 s",
  storage: true,
  settings: exempt,
  seconds: 150,
  run: async (target) => {
    const { double, gateway, manage } = target
    const hanging = await double()
    const receiver = await double()
    hanging.handle = silent
    let arrived = 0
    receiver.handle = (_, response) => {
      arrived++
      answer(response, {}, 200)
    }
    const create = async (name: string) =>
      textOf(await manage("POST", "/workspaces", { name, slug: name }), "data", "id")
    for (let n = 0; n < workspaces; n++) {
      await deliveries(target, await create(`hanging-${n}`), each, `${hanging.url}/hook`)
    }
    await gateway.watch.reset()
    while (hanging.calls() < 16 * workspaces && gateway.ended() === undefined) await pause(50)
    const startedAt = performance.now()
    const times: Array<number> = []
    for (const name of ["first", "second"]) {
      const from = performance.now()
      const before = arrived
      await deliveries(target, await create(name), 1, `${receiver.url}/hook`)
      while (arrived === before && gateway.ended() === undefined && performance.now() - from < 60_000) await pause(20)
      times.push(performance.now() - from)
    }
    return {
      figure:
        `${hanging.calls()} hang after ${milliseconds(performance.now() - startedAt)}; ` +
        `the others arrived after ${times.map(milliseconds).join(" and ")}`,
      problems: times.flatMap((time) => (time > 5000 ? [`another webhook waited ${milliseconds(time)}`] : []))
    }
  }
}

export const webhooks: ReadonlyArray<Attack> = [silentReceivers]
