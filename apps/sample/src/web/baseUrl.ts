/** The gateway's address. It serves this page, at its root or below a base path. */
export const baseUrl = new URL("api/v1", location.href).href
