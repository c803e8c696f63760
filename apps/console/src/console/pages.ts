/** The pages of the console: the one list that navigation, routes and the search for an id read. */
import type { ReactNode } from "react"
import type { IconName } from "../parts/Icon.tsx"
import { texts } from "../shell/search.ts"

export interface Page {
  readonly title: string
  readonly icon: IconName
  /** The parameters of its URL besides those of the frame. */
  readonly search: (raw: Readonly<Record<string, unknown>>) => { readonly [name: string]: string }
  /** The ids that its parameter `id` takes, for the search in the frame. */
  readonly finds?: RegExp
  /** Its code, which is loaded when it is shown. */
  readonly component: () => Promise<{ readonly default: () => ReactNode }>
}

/** Each page by the last segment of its address. */
export const pages = {
  overview: {
    title: "Overview",
    icon: "overview",
    search: texts(),
    component: () => import("../pages/Overview.tsx")
  },
  requests: {
    title: "Requests",
    icon: "requests",
    search: texts("id", "view", "status", "operation", "model", "provider", "key", "user", "error_status", "live"),
    // The ids of generations are UUIDs of version 7.
    finds: /^(?:req_|gen_|[0-9a-f]{8}-[0-9a-f]{4}-7)/,
    component: () => import("../pages/Requests.tsx")
  },
  usage: {
    title: "Usage",
    icon: "usage",
    search: texts("measure", "group", "interval", "key", "compare"),
    component: () => import("../pages/Usage.tsx")
  },
  keys: {
    title: "Keys",
    icon: "keys",
    search: texts("id", "q", "sort", "disabled"),
    finds: /^[0-9a-f]{64}$/,
    component: () => import("../pages/Keys.tsx")
  },
  guardrails: {
    title: "Guardrails",
    icon: "guardrails",
    search: texts("id"),
    component: () => import("../pages/Guardrails.tsx")
  },
  workspaces: {
    title: "Workspaces",
    icon: "workspaces",
    search: texts("id"),
    component: () => import("../pages/Workspaces.tsx")
  },
  models: {
    title: "Models",
    icon: "models",
    search: texts("id", "kind", "q", "simulators"),
    component: () => import("../pages/Models.tsx")
  },
  providers: {
    title: "Providers",
    icon: "providers",
    search: texts("id"),
    component: () => import("../pages/Providers.tsx")
  },
  videos: {
    title: "Videos",
    icon: "videos",
    search: texts("id", "status", "model", "key"),
    finds: /^video_/,
    component: () => import("../pages/Videos.tsx")
  },
  webhooks: {
    title: "Webhooks",
    icon: "webhooks",
    search: texts("id", "status", "type", "video"),
    finds: /^evt_/,
    component: () => import("../pages/Webhooks.tsx")
  },
  destinations: {
    title: "Destinations",
    icon: "destinations",
    search: texts("id"),
    component: () => import("../pages/Destinations.tsx")
  },
  "provider-keys": {
    title: "Provider keys",
    icon: "provider_keys",
    search: texts("id"),
    component: () => import("../pages/ProviderKeys.tsx")
  },
  alerts: {
    title: "Alerts",
    icon: "alerts",
    search: texts("id", "view", "alert"),
    component: () => import("../pages/Alerts.tsx")
  },
  audit: {
    title: "Audit",
    icon: "audit",
    search: texts("id", "actor", "action", "target"),
    component: () => import("../pages/Audit.tsx")
  },
  system: {
    title: "System",
    icon: "system",
    search: texts("reservations", "q", "source"),
    component: () => import("../pages/System.tsx")
  }
} as const satisfies { readonly [path: string]: Page }

export type PageName = keyof typeof pages

/** The names of all pages. */
export const pageNames = Object.keys(pages).filter((name): name is PageName => name in pages)

/** The groups of the navigation. */
export const groups: ReadonlyArray<readonly [title: string, pages: ReadonlyArray<PageName>]> = [
  ["", ["overview", "requests", "usage"]],
  ["Access", ["keys", "guardrails", "workspaces"]],
  ["Routing", ["models", "providers", "provider-keys"]],
  ["Delivery", ["videos", "webhooks", "destinations"]],
  ["Operation", ["alerts", "audit", "system"]]
]

/** The page that shows what an id identifies. */
export const pageOfId = (id: string): PageName | undefined =>
  pageNames.find((name) => {
    const page: Page = pages[name]
    return page.finds?.test(id) ?? false
  })
