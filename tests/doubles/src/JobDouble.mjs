/**
 * What doubles of video services have in common: jobs that advance with each poll, and links to
 * their results on the double's own socket.
 */
import { randomUUID } from "node:crypto"

/** The bytes of every video. */
export const video = Buffer.from("not really an MP4, but its bytes")

/**
 * The jobs of a double. Each job ends as scripted by `next`, in turn, and else it succeeds:
 *
 * - `succeed`
 * - `fail`: with a message that also has what callers must not see
 * - `lose`: the second poll does not find the job
 * - `expire`: the links to the video have expired, until one of them was used and a new one is
 *   asked for
 * - `empty`: the job succeeds without a video
 */
export const makeJobs = ({ newId = randomUUID, polls = 2 } = {}) => {
  const jobs = new Map()
  const links = new Map()
  const script = []
  return {
    /** The jobs by id, in the order of submission. */
    jobs,
    next: (...outcomes) => script.push(...outcomes),
    create: (input) => {
      const job = {
        id: newId(),
        input,
        outcome: script.shift() ?? "succeed",
        polls: 0,
        isCanceled: false,
        hasExpired: false
      }
      jobs.set(job.id, job)
      return job
    },
    find: (id) => jobs.get(id),
    /** The job after one more poll, or undefined if the service does not have it. */
    poll: (id) => {
      const job = jobs.get(id)
      if (job === undefined) return undefined
      job.polls++
      if (job.outcome === "lose" && job.polls > 1) return undefined
      return job
    },
    /** `queued`, then `running`, then `done`. */
    phaseOf: (job) => (job.polls === 0 ? "queued" : job.polls < polls ? "running" : "done"),
    /** A new link to the video of a job that is done. The host is that of the request. */
    link: (job, { headers }) => {
      const path = `/files/${randomUUID()}.mp4`
      links.set(path, { job, isExpired: job.outcome === "expire" && !job.hasExpired })
      return `http://${headers.host}${path}`
    },
    /** The answer to a request for a link, or undefined for another request. */
    file: ({ url }) => {
      if (!url.startsWith("/files/")) return undefined
      const link = links.get(url)
      if (link === undefined) return { status: 404, headers: { "content-type": "text/plain" }, body: "not found" }
      if (link.isExpired) link.job.hasExpired = true
      return link.isExpired
        ? {
            status: 403,
            headers: { "content-type": "application/xml" },
            body: "<Error><Code>AccessDenied</Code></Error>"
          }
        : { headers: { "content-type": "video/mp4" }, body: video }
    }
  }
}

/** A message of a failed job, with a key, a URL and a path of the upstream. */
export const unsafeMessage =
  "The input image at https://cdn.example.com/a.png?token=abc is not readable (r8_abcdefgh123456)"

// Checks of the fields of a job's input.

export const isBoolean = (value) => typeof value === "boolean"
export const isText = (value) => typeof value === "string"
export const isUrl = (value) => isText(value) && /^(?:https?:\/\/|data:)/.test(value)
export const oneOf =
  (...values) =>
  (value) =>
    values.includes(value)
