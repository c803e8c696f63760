/** The functions that write events to Postgres, and that say how far events may be read. */
import { enabledDestination, insertEvent } from "../sql/EventLog.ts"
import * as PostgresFunction from "./PostgresFunction.ts"

/**
 * The advisory locks of writers of events are this number and the newest sequence when the lock was
 * taken. It keeps them apart from other advisory locks of the database.
 */
const eventLocks = "4611686018427387904"

/** The newest sequence that was handed out. */
const newestSequence = "(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_sequence_seq)"

/**
 * A writer of events announces the sequence after which its events will come, before it takes one,
 * until its transaction ends.
 */
export const announce = PostgresFunction.make(
  "gateway_announce_events",
  `() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${eventLocks} + ${newestSequence});
END $$`
)

/** Writes an event of a workspace that has an enabled destination. */
export const append = PostgresFunction.make(
  "gateway_append_event",
  `(at bigint, workspace text, content text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (${enabledDestination("workspace")}) THEN
    PERFORM ${announce.name}();
    ${insertEvent("at", "content")};
  END IF;
END $$`
)

/**
 * How far the events may be read. An event up to the newest sequence was written by a transaction
 * that has ended, so that it is visible, or that still announces a lower sequence. It took the
 * sequence after its announcement, so reading the sequence before the announcements misses none.
 */
export const readableThrough = PostgresFunction.make(
  "gateway_events_through",
  `() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
  announced bigint;
BEGIN
  newest := ${newestSequence};
  SELECT min(number) - ${eventLocks} INTO announced FROM (
    SELECT (classid::bigint << 32) | objid::bigint AS number FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ) AS locks WHERE number BETWEEN ${eventLocks} AND ${eventLocks} + newest;
  RETURN least(newest, announced);
END $$`
)

/** All of them. */
export const all = [announce, append, readableThrough]
