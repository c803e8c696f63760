/** A link to a page of the console. Range and workspace stay, unless the link has its own. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { PageName } from "../console/pages.ts"
import { pathOf, type SearchOf } from "./navigation.ts"
import { frameSearch, given } from "./search.ts"

export const PageLink = <Name extends PageName>({
  children,
  className,
  onClick,
  page,
  search
}: {
  readonly page: Name
  readonly search?: { readonly [Field in keyof SearchOf<Name>]?: SearchOf<Name>[Field] | undefined }
  readonly className?: string
  readonly onClick?: () => void
  readonly children: ReactNode
}) => (
  <Link
    to={pathOf(page)}
    search={(before: object) => ({ ...frameSearch({ ...before }), ...given({ ...search }) })}
    activeOptions={{ exact: true, includeSearch: false }}
    // A link to one item of a page is not a link to the current page.
    activeProps={search === undefined ? { "aria-current": "page" } : {}}
    {...(className !== undefined && { className })}
    {...(onClick !== undefined && { onClick })}
  >
    {children}
  </Link>
)
