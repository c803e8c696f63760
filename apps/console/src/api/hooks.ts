/** Reads and changes what the gateway has, in components. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useRef, useSyncExternalStore } from "react"
import { call, request } from "./call.ts"
import { jsonOf } from "./http.ts"
import type {
  ChangeOperation,
  IdOperation,
  Input,
  Item,
  OffsetOperation,
  PagedOperation,
  Query,
  ReadOperation
} from "./Contract.ts"
import { includes, type Role, snapshot, subscribe } from "./session.ts"

interface ReadOptions {
  /** Default: true. False: it does not read. */
  readonly enabled?: boolean
  /** Milliseconds after which it reads again. Default: only when the page gets the focus again. */
  readonly refetchInterval?: number | false
}

/** Reads an operation. While it reads again, `data` is the answer before. */
export const useRead = <O extends ReadOperation>(operation: O, input: Input<O> = {}, options: ReadOptions = {}) =>
  useQuery({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, signal),
    placeholderData: keepPreviousData,
    ...options
  })

/** A page of a list with a cursor. */
export interface PageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly next: string | null
}

/** Reads an operation whose pages have a cursor. `rows` has those of all pages that were read. */
export const usePages = <O extends PagedOperation>(
  operation: O,
  query: Omit<Query<O>, "after">,
  options: ReadOptions = {}
) => {
  const result = useInfiniteQuery({
    queryKey: [operation, "pages", query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<PageOf<Item<O>>> =>
      jsonOf(await request(operation, { query: { ...query, after: pageParam } }, signal)),
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    ...options
  })
  return { ...result, rows: result.data?.pages.flatMap(({ data }) => data) }
}

/** A page of a list with an offset. */
export interface OffsetPageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly total_count: number
}

/**
 * Reads an operation whose pages have an offset. `rows` has those of all pages that were read, and
 * `more` is what a table needs to read the next one.
 */
export const useOffsetPages = <O extends OffsetOperation>(
  operation: O,
  { params, query }: Pick<Input<O>, "params" | "query"> = {},
  options: ReadOptions = {}
) => {
  const result = useInfiniteQuery({
    queryKey: [operation, "offsets", params, query],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }): Promise<OffsetPageOf<Item<O>>> =>
      jsonOf(await request(operation, { params, query: { ...query, offset: pageParam } }, signal)),
    getNextPageParam: ({ data, total_count }, pages) => {
      const read = pages.reduce((sum, page) => sum + page.data.length, 0)
      return data.length > 0 && read < total_count ? read : undefined
    },
    placeholderData: keepPreviousData,
    ...options
  })
  return {
    ...result,
    rows: result.data?.pages.flatMap(({ data }) => data),
    total: result.data?.pages.at(-1)?.total_count,
    more: { hasMore: result.hasNextPage, isReading: result.isFetchingNextPage, read: () => result.fetchNextPage() }
  }
}

/** A page of a list that continues with the id of its last item. */
export interface IdPageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

/**
 * Reads an operation whose pages continue with the id of their last item. `rows` has those of all
 * pages that were read, and `more` is what a table needs to read the next one.
 */
export const useIdPages = <O extends IdOperation>(
  operation: O,
  query: Omit<Query<O>, "after">,
  options: ReadOptions = {}
) => {
  const result = useInfiniteQuery({
    queryKey: [operation, "ids", query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<IdPageOf<Item<O> & { readonly id: string }>> =>
      jsonOf(await request(operation, { query: { ...query, after: pageParam } }, signal)),
    getNextPageParam: ({ data, has_more }) => (has_more ? data.at(-1)?.id : undefined),
    placeholderData: keepPreviousData,
    ...options
  })
  return {
    ...result,
    rows: result.data?.pages.flatMap(({ data }) => data),
    more: { hasMore: result.hasNextPage, isReading: result.isFetchingNextPage, read: () => result.fetchNextPage() }
  }
}

/** Makes a change. Everything that is shown is read again after it. */
export const useChange = <O extends ChangeOperation>(operation: O) => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input<O>) => call(operation, input),
    // An answer may have a secret.
    gcTime: 0,
    // Not waited for: by then, the form of the change may be gone, and with it what follows.
    onSuccess: () => void queries.invalidateQueries()
  })
}

/** One idempotency key for each request of a form, so that trying again makes the change once. */
export const useIdempotencyKey = () => {
  const last = useRef({ request: "", key: "" })
  return (request: object): string => {
    const text = JSON.stringify(request)
    if (last.current.request !== text) last.current = { request: text, key: crypto.randomUUID() }
    return last.current.key
  }
}

/** The session and whether the page asks for a key. */
export const useSessionState = () => useSyncExternalStore(subscribe, snapshot)

/** Whether the person may do what needs the role. */
export const useMay = (role: Role): boolean => {
  const { session } = useSessionState()
  return session != null && includes(session.role, role)
}
