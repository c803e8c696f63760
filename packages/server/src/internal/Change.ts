/** Changes to a record, in which absent fields stay as they are. */

/** The present fields with those that the change has. */
export const apply = <A extends object>(
  present: A,
  change: { readonly [Field in keyof A]?: A[Field] | undefined }
): A => ({
  ...present,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
})
