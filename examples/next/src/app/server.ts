// What the route handlers and actions share. Not for components of the page: it has the key.
import { type Client, createClient, errorResponse } from "@model-gateway/node/promise"

let client: Promise<Client> | undefined

/** Made by the first request, because `next build` loads this module too, without the key. */
export const gateway = (): Promise<Client> =>
  (client ??= createClient({ retryPolicy: { maxRetries: 1, deadline: "2 minutes" } }))

/** Route handlers have no error handler of the framework's. */
export const route =
  (handler: (request: Request) => Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    try {
      return await handler(request)
    } catch (error) {
      const answer = errorResponse(error)
      if (answer === undefined) throw error
      const { headers, message, status } = answer
      if (status >= 500) console.error(error)
      return Response.json({ error: message }, { status, headers })
    }
  }
