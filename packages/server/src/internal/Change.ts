/** Changes to a record, in which absent fields stay as they are. */

/** The new value of a field: the change's, or the present one if the change does not have it. */
export const valueOf = <A>(change: A | undefined, present: A): A => (change === undefined ? present : change)
