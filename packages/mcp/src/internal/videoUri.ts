/**
 * The addresses of finished videos as resources of the server. They are not those of the gateway,
 * because a client cannot download from there without the key.
 */

/** The address of one of a job's videos. */
export const of = (id: string, index: number): string => `model-gateway://videos/${encodeURIComponent(id)}/${index}`

export const mimeType = "video/mp4"
