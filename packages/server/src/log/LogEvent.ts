/**
 * The events of the log: the name of each, its level, what it means and what to do about it.
 *
 * Every line of the log has the name of its event. The table in `docs/operate/logs.md` has these
 * texts.
 */
import { Effect } from "effect"

/** How serious an event is. */
export type Level = "Fatal" | "Error" | "Warn" | "Info" | "Debug"

/** An event as it is declared. */
export interface Declared {
  readonly level: Level
  /** What has happened. */
  readonly meaning: string
  /** What an operator does about it. Events of level `Info` and below need nothing. */
  readonly action?: string
}

const declared = {
  // The process.
  started: { level: "Info", meaning: "The gateway accepts requests. Its address, its data and its settings follow." },
  first_run: { level: "Info", meaning: "The first start created a workspace and keys." },
  first_keys_not_written: {
    level: "Warn",
    meaning: "The first start could not write its keys to `first-keys.env`, or a later one the gateway's address.",
    action: "Check the permissions and the free space of the data folder. `keys create` makes other keys."
  },
  console_sign_in_failed: {
    level: "Warn",
    meaning: "A sign-in to the console by OpenID Connect failed, or the person has no role. The line says why.",
    action:
      "Check `console-oidc-issuer`, the client and its redirect URI at the provider of identities, and the claim of the role."
  },
  bootstrap_key_refused: {
    level: "Warn",
    meaning:
      "The management key of `--bootstrap-management-key-file` has no effect: the database had other first keys, or the key was revoked, disabled or has expired.",
    action:
      "Remove the setting, or give it the key that the first start had. `keys create --management` makes another key."
  },
  stopping: { level: "Info", meaning: "The gateway got a signal and lets requests in flight finish." },
  not_started: {
    level: "Fatal",
    meaning: "The gateway did not start, or ended because of a problem that an operator can solve.",
    action: "Correct what the line names. A supervisor such as systemd starts it again."
  },
  terminal_closed: { level: "Info", meaning: "SIGHUP: the terminal of the gateway was closed, so it stops." },
  signal_ignored: { level: "Info", meaning: "A signal asked for something that the process does not do now." },
  primary_ended: {
    level: "Error",
    meaning: "The first process of `--workers` ended, so its workers stop after their requests.",
    action: "Look for `kill -9` and missing memory at that time."
  },
  crashed: {
    level: "Fatal",
    meaning: "The process ended without having stopped. The line says why and what it was doing.",
    action: "Report it with `crash.log` of the data folder. It contains no secrets and no contents of requests."
  },
  earlier_run_crashed: {
    level: "Warn",
    meaning: "An earlier process of this data folder ended without having stopped.",
    action: "Look for `kill -9`, missing memory and power failures at that time. Then run `reconcile`."
  },
  run_not_recorded: {
    level: "Warn",
    meaning: "The data folder cannot record how the process ends.",
    action: "Check the permissions and the free space of the data folder."
  },
  worker_started: { level: "Info", meaning: "A worker serves again, or is replaced in a restart." },
  worker_ended: {
    level: "Warn",
    meaning: "A worker process ended without having been stopped. Another one replaces it.",
    action: "If it repeats, look for `crashed` lines and missing memory."
  },
  workers_not_restarted: {
    level: "Error",
    meaning: "SIGUSR2: a new worker did not start, so the restart ended. The others continue.",
    action: "Read the lines before. Correct what they name, and restart again."
  },
  mcp_needs_one_worker: {
    level: "Warn",
    meaning: "`/mcp` is on with several workers, and a session is known to one of them only.",
    action: "Use `--workers 1` if clients speak the protocol before its revision 2026-07-28."
  },
  settings_reloaded: { level: "Info", meaning: "SIGHUP: the settings were read again and are used." },
  settings_not_reloaded: {
    level: "Error",
    meaning: "SIGHUP: the settings cannot be used. The former ones stay in force.",
    action: "Correct what the line names, and send SIGHUP again."
  },
  restart_needed: {
    level: "Warn",
    meaning: "SIGHUP: settings were changed that only a start reads.",
    action: "Restart the gateway when it suits you. The others are in force."
  },
  certificate_replaced: { level: "Info", meaning: "New connections get the new certificate of `--tls-cert`." },
  certificate_refused: {
    level: "Warn",
    meaning: "A new certificate or key cannot be used. The gateway keeps the one that it has.",
    action: "Replace the files with a certificate and its key."
  },
  certificate_expires: {
    level: "Warn",
    meaning: "The certificate has expired or expires soon.",
    action: "Replace the file. No restart is necessary."
  },

  // Requests.
  request: { level: "Info", meaning: "A request was answered. Only with `--access-log all`." },
  request_failed: {
    level: "Info",
    meaning: "A request was answered with an error, or its caller disconnected (499)."
  },
  request_error: {
    level: "Error",
    meaning: "A request failed because of the gateway, its database or its disk, not because of the caller.",
    action: "Read the message. If it names no part that you can repair, report it as a bug."
  },
  failures_not_recorded: {
    level: "Warn",
    meaning: "More requests failed than are logged and recorded, or the database did not take them.",
    action: "Look at `request_failed` lines of that minute: a caller in a loop, or an attack."
  },
  rejected_requests_not_stored: {
    level: "Warn",
    meaning: "Rejected requests could not be written to the database. The gateway keeps 1,000 and tries again.",
    action: "As for `request_error`: the database fails or is full."
  },
  end_user: { level: "Debug", meaning: "The end user that a request names. The only line that does." },
  side_effect_failed: {
    level: "Warn",
    meaning: "Something beside a request failed. Its answer does not depend on it.",
    action: "Read the message. If it repeats, the database fails."
  },
  overrun: {
    level: "Warn",
    meaning: "A provider billed more than the offer had quoted. At most what the limits allow was charged.",
    action: "Compare the prices of the model with its provider's. See `docs/operate/limits.md`."
  },
  row_unreadable: {
    level: "Warn",
    meaning: "A list leaves out a row of the database that cannot be read.",
    action: "Restore it from a backup, or report it as a bug: a newer version may have written it."
  },

  // Providers.
  upstream_failed: {
    level: "Warn",
    meaning: "A call to a provider failed, and not because of the caller. Another one may have served the request.",
    action:
      "`Unauthorized`: replace the key of the provider. `OutOfCredit`: pay its bill. `UnknownModel`: update the catalog. Otherwise look at the provider's status page."
  },
  circuit_opened: {
    level: "Warn",
    meaning: "A model's provider failed several times in a row and is not called for a while.",
    action: "As for `upstream_failed`. GET `/providers/health` says when the next call is made."
  },
  circuit_closed: { level: "Info", meaning: "The provider answered again and is called as before." },
  circuit_store_failed: {
    level: "Warn",
    meaning: "The state of the circuits could not be read or written. Providers are called as if they were up.",
    action: "Check Redis."
  },
  provider_models_unread: {
    level: "Warn",
    meaning: "The models of an upstream gateway could not be read, so that some or all are not offered.",
    action: "Check the upstream's URL and key, then restart the gateway."
  },

  // Parts of the service.
  part_failed: {
    level: "Warn",
    meaning: "A part that `/readyz` shows does not work.",
    action: "The line names the part and the reason: the database, the files, the uploads or Redis."
  },
  part_recovered: { level: "Info", meaning: "The part works again." },
  metrics_stale: {
    level: "Warn",
    meaning: "Some values of `/metrics` could not be read and are old.",
    action: "If it repeats, check the database."
  },
  heartbeat_failed: {
    level: "Warn",
    meaning: "The process could not tell the others that it is alive.",
    action: "If it repeats, check the database: after 15 seconds other processes take over its work."
  },
  process_lock_failed: {
    level: "Warn",
    meaning: "The process could not lock its entry. If it dies, others notice it later.",
    action: "Check the permissions of the folder `processes`, or the connections that Postgres allows."
  },
  reservations_abandoned: {
    level: "Warn",
    meaning: "Processes died while requests were in flight. What these had reserved was released.",
    action: "Run `reconcile` and compare with the bills of the providers. See `docs/operate/reconciliation.md`."
  },
  reservations_not_released: {
    level: "Warn",
    meaning: "What dead processes had reserved could not be released. The gateway tries again.",
    action: "If it repeats, check the database."
  },
  purge_failed: {
    level: "Warn",
    meaning: "Old rows or files could not be deleted. The gateway tries again within minutes.",
    action: "If it repeats, check the database, and the free space of its disk."
  },
  redis_unavailable: {
    level: "Warn",
    meaning: "Redis does not answer. Each process counts rate limits and circuits by itself until it does.",
    action: "Check Redis and the network. Limits apply per process meanwhile."
  },
  redis_available: { level: "Info", meaning: "Redis answers, and counts for all processes." },

  // Files.
  object_store_failed: {
    level: "Error",
    meaning: "A file could not be stored or read. The caller got a 503.",
    action: "Check the disk of the data folder, or the bucket: free space, permissions, credentials."
  },
  object_store_unavailable: {
    level: "Warn",
    meaning: "The object store did not answer at the start. Files and videos wait for it.",
    action: "Check its URL, its credentials and the network."
  },
  object_missing: {
    level: "Error",
    meaning: "The database has a file or a video whose bytes are missing.",
    action: "Restore the object from a backup. Was a folder or a bucket restored without the other?"
  },
  object_not_removed: {
    level: "Warn",
    meaning: "The bytes of a deleted file could not be removed. A later sweep removes them.",
    action: "If it repeats, check the permissions of the object store."
  },
  folder_not_removed: {
    level: "Warn",
    meaning: "The folder of a dead process could not be removed.",
    action: "Check the permissions of the folder that the line names, and remove it."
  },
  site_file_hidden: {
    level: "Warn",
    meaning: "A file of `--web-dir` is not served, because the gateway uses its path.",
    action: "Rename the file."
  },

  // Secrets.
  master_key_created: {
    level: "Warn",
    meaning: "The key that encrypts stored secrets was created in the database.",
    action: "Set `MODEL_GATEWAY_MASTER_KEY`, so that a copy of the database alone does not reveal them."
  },
  secret_unreadable: {
    level: "Error",
    meaning: "A provider key of a caller cannot be decrypted.",
    action: "Set the former master key in `MODEL_GATEWAY_FORMER_MASTER_KEYS`. See `docs/operate/byok.md`."
  },

  // Video jobs.
  video_upstream_failed: {
    level: "Warn",
    meaning: "A provider failed while it was asked for a video or polled. The job continues.",
    action: "As for `upstream_failed`."
  },
  video_answer_lost: {
    level: "Warn",
    meaning:
      "A provider may have accepted a video job and its answer was lost. The job failed, and the provider may bill it.",
    action: "Look the job up at the provider, by its time and model."
  },
  video_job_failed: {
    level: "Warn",
    meaning: "A step of a video job failed because of the gateway or its database. It is tried again.",
    action: "As for `request_error`."
  },

  // Webhooks and broadcast.
  webhook_given_up: {
    level: "Warn",
    meaning: "A webhook was not delivered within 36 hours, or its receiver refused it.",
    action: "Tell the owner of the receiver. Deliver it again with POST `/webhooks/deliveries/{id}/redeliver`."
  },
  alerts_failed: {
    level: "Warn",
    meaning: "Alerts could not be evaluated because of the gateway or its database. They keep their state.",
    action: "As for `request_error`."
  },
  webhooks_failed: {
    level: "Warn",
    meaning: "Webhooks could not be read or sent because of the gateway or its database.",
    action: "As for `request_error`."
  },
  broadcast_event_skipped: {
    level: "Error",
    meaning: "An event has no form that a destination can take.",
    action: "Report it as a bug. The next events are sent."
  },
  broadcast_events_dropped: {
    level: "Warn",
    meaning: "A destination did not accept events for too long, or refused them.",
    action: "Check the destination's URL and credentials."
  },
  broadcast_failed: {
    level: "Error",
    meaning: "A destination cannot be served because of the gateway or its database. It is tried again.",
    action: "As for `request_error`."
  },

  // Tools of agents.
  tool_failed: {
    level: "Error",
    meaning: "A tool of `/mcp` failed because of a bug.",
    action: "Report it with the line."
  }
} as const satisfies Readonly<Record<string, Declared>>

/** The name of an event. */
export type Event = keyof typeof declared

/** Every event by its name. */
export const events: Readonly<Record<Event, Declared>> = declared

/** Details of an event, such as the id of its request. Nothing secret, and no contents. */
export type Details = Readonly<Record<string, string | number | boolean>>

/** Logs an event at its level. `message` is one sentence for people. */
export const log = (event: Event, message: string, details: Details = {}): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWithLevel(events[event].level)(message), { ...details, event })

/** The events with an action, as rows of a table in Markdown. */
export const markdown = (): string =>
  [
    "| Event | Level | What has happened | What to do |",
    "|---|---|---|---|",
    ...Object.entries<Declared>(events).map(
      ([name, { action = "Nothing.", level, meaning }]) => `| \`${name}\` | ${level} | ${meaning} | ${action} |`
    )
  ].join("\n") + "\n"
