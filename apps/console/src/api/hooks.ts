/** Reads and changes what the gateway has, in components. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"
import { call, request } from "./call.ts"
import { jsonOf } from "./http.ts"
import type { ChangeOperation, Input, Item, PagedOperation, Query, ReadOperation } from "./Contract.ts"
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

interface PageOf<A> {
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

/** Makes a change. Everything that is shown is read again after it. */
export const useChange = <O extends ChangeOperation>(operation: O) => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input<O>) => call(operation, input),
    onSuccess: () => queries.invalidateQueries()
  })
}

/** The session and whether the page asks for a key. */
export const useSessionState = () => useSyncExternalStore(subscribe, snapshot)

/** Whether the person may do what needs the role. */
export const useMay = (role: Role): boolean => {
  const { session } = useSessionState()
  return session != null && includes(session.role, role)
}
