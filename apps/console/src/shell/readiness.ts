/** The answer of `/readyz`: whether the service can serve, and the state of its parts. */
import { useQuery } from "@tanstack/react-query"
import { base, jsonOf } from "../api/http.ts"

export interface Readiness {
  readonly status: "ready" | "degraded" | "unavailable" | "stopping"
  /** Undefined: the service is stopping. */
  readonly parts?: {
    readonly [name: string]: { readonly status: "ready" | "degraded" | "unavailable"; readonly message?: string }
  }
}

export const useReadiness = () =>
  useQuery({
    queryKey: ["readyz"],
    // A service that is not ready answers 503, which is an answer too.
    queryFn: async ({ signal }): Promise<Readiness> => jsonOf(await fetch(new URL("../readyz", base), { signal })),
    refetchInterval: 15_000
  })
