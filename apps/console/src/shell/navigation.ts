/** Reads and changes what the URL says. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo } from "react"
import { type PageName, pages } from "../console/pages.ts"
import { type FrameSearch, type Range, rangeOf } from "./range.ts"
import { changed, frameSearch, given } from "./search.ts"

/** The parameters of a page and those of the frame. */
export type SearchOf<Name extends PageName> = ReturnType<(typeof pages)[Name]["search"]> & FrameSearch

/** The path of a page in the router. */
export const pathOf = (page: PageName): string => (page === "overview" ? "/" : `/${page}`)

const useRawSearch = (): Readonly<Record<string, unknown>> => useSearch({ strict: false })

/** What the URL says to a page. */
export const usePageSearch = <Name extends PageName>(page: Name): SearchOf<Name> => {
  const raw = useRawSearch()
  return useMemo(() => ({ ...pages[page].search(raw), ...frameSearch(raw) }) as SearchOf<Name>, [page, raw])
}

/** What the URL says to the frame. */
export const useFrameSearch = (): FrameSearch => {
  const raw = useRawSearch()
  return useMemo(() => frameSearch(raw), [raw])
}

/** The range of time and the workspace that the person chose. */
export const useScope = (): { readonly range: Range; readonly workspace: string | undefined } => {
  const search = useFrameSearch()
  return useMemo(() => ({ range: rangeOf(search), workspace: search.workspace }), [search])
}

type Change<Name extends PageName> = { readonly [Field in keyof SearchOf<Name>]?: SearchOf<Name>[Field] | undefined }

/**
 * Changes parameters of the page that is shown. Those that are undefined leave the URL. Back leads
 * to what was before, unless `replace`.
 */
export const useSetSearch = <Name extends PageName>(_page: Name) => {
  const navigate = useNavigate()
  return (change: Change<Name>, { replace = false } = {}) =>
    navigate({
      to: ".",
      replace,
      search: (before: object) => changed(before, change)
    })
}

/** Changes the range of time or the workspace. What is undefined leaves the URL. */
export const useSetFrame = () => {
  const navigate = useNavigate()
  return (change: FrameSearch) => navigate({ to: ".", search: (before: object) => changed(before, change) })
}

/** Changes the range of time to one that was chosen in a chart, in milliseconds. */
export const useSetRange = () => {
  const set = useSetFrame()
  return (from: number, to: number): void =>
    void set({ range: undefined, from: new Date(from).toISOString(), to: new Date(to).toISOString() })
}

/** Goes to a page. Range and workspace stay. */
export const useGo = () => {
  const navigate = useNavigate()
  return <Name extends PageName>(page: Name, search: Change<Name>) =>
    navigate({ to: pathOf(page), search: (before: object) => ({ ...frameSearch({ ...before }), ...given(search) }) })
}
