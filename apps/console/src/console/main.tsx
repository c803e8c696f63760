/** The console: starts the page and continues the session of an earlier visit. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { ApiError } from "../api/http.ts"
import { begin } from "../api/session.ts"
import { router } from "./router.tsx"

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the gateway refused, it refuses again.
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500)
    }
  }
})

/** The token of a one-time link leaves the address, and with it the history, at once. */
const takeFragment = (): URLSearchParams => {
  const fragment = new URLSearchParams(location.hash.slice(1))
  if (fragment.has("token") || fragment.has("problem"))
    history.replaceState(null, "", location.pathname + location.search)
  return fragment
}

const root = document.getElementById("root")
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>
  )
}
void begin(takeFragment())
