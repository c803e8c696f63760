/** A time in UTC, or how far it is from now with the time as its title. */
import { relative, time } from "./format.ts"

export const Time = ({ at, ago = false }: { readonly at: string; readonly ago?: boolean }) => (
  <time dateTime={at} title={ago ? `${time(at)} UTC` : relative(at)}>
    {ago ? relative(at) : time(at)}
  </time>
)
