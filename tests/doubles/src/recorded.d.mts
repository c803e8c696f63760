import type { Effect } from "effect"

/** Waits for something that happens on a socket. */
export declare const until: (isDone: () => boolean) => Effect.Effect<void>

/** Everything that an operator or a caller could see of a value. */
export declare const shown: (value: unknown) => string

/** Runs an effect, and returns what it logged, its spans, and its result, as text. */
export declare const recorded: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<string, never, R>
