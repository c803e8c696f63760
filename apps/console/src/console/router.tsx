/** The addresses of the console: one segment for each page, everything else in the query. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  retainSearchParams,
  stringifySearchWith
} from "@tanstack/react-router"
import { base } from "../api/http.ts"
import { Frame } from "../shell/Frame.tsx"
import { frameSearch } from "../shell/search.ts"
import { NotFound } from "../shell/NotFound.tsx"
import { type Page, type PageName, pageNames, pages } from "./pages.ts"

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: frameSearch,
  search: { middlewares: [retainSearchParams(["range", "from", "to", "workspace"])] }
})

const routeOf = <Name extends PageName>(name: Name) => {
  const { search } = pages[name]
  const { component }: Page = pages[name]
  return createRoute({
    getParentRoute: () => root,
    path: name === "overview" ? "/" : `/${name}`,
    validateSearch: search,
    component: lazyRouteComponent(component)
  })
}

// Texts stand in the URL as they are, not as JSON.
const plain = { parse: parseSearchWith((text) => text), stringify: stringifySearchWith(String) }

export const router = createRouter({
  routeTree: root.addChildren(pageNames.map(routeOf)),
  basepath: base.pathname.replace(/\/$/, ""),
  parseSearch: plain.parse,
  stringifySearch: plain.stringify,
  defaultPreload: "intent",
  scrollRestoration: true
})
