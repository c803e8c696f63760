/** Changes to a record, in which absent fields stay as they are. */

/** The new value of a field: the change's, or the present one if the change does not have it. */
export const valueOf = <A>(change: A | undefined, present: A): A => (change === undefined ? present : change)

/** The present fields with those that the change has. */
export const apply = <A extends object>(
  present: A,
  change: { readonly [Field in keyof A]?: A[Field] | undefined }
): A => ({
  ...present,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
})
