/**
 * One field of a request as a program writes it: in it and in all that it contains, an optional
 * field may also be undefined, which is not sent. The service's schemas have no undefined.
 */
export type Written<T, Field extends keyof T> = Values<T[Field]> | (object extends Pick<T, Field> ? undefined : never)

type Values<T> = T extends Leaf
  ? T
  : T extends ReadonlyArray<unknown>
    ? { readonly [Index in keyof T]: Values<T[Index]> }
    : T extends object
      ? { readonly [Field in keyof T]: string extends Field ? T[Field] : Written<T, Field> }
      : T

type Leaf = string | number | boolean | null | undefined | Blob
