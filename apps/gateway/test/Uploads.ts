/** Large uploads, and the memory that a process needs for them. */
import { existsSync, readFileSync } from "node:fs"
import { request as httpRequest } from "node:http"

/** A form with one text field and a file. */
export interface Upload {
  readonly path: string
  readonly field: readonly [name: string, value: string]
  readonly filename: string
  /** The size of the file. */
  readonly bytes: number
  /** The first bytes of the file. The others are text. */
  readonly header?: Buffer
}

const boundary = "--bound--"

const block = Buffer.alloc(250_000, "model gateway ")

/** Sends the form, and returns the status and the body of the response. */
export const upload = (
  port: number,
  key: string,
  { bytes, field: [name, value], filename, header = Buffer.alloc(0), path }: Upload
): Promise<readonly [status: number | undefined, body: string]> =>
  new Promise((resolve, reject) => {
    const before = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n` +
        `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`
    )
    const after = Buffer.from(`\r\n--${boundary}--\r\n`)
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        agent: false,
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": `multipart/form-data; boundary=${boundary}`,
          "content-length": before.length + bytes + after.length
        }
      },
      (response) => {
        let body = ""
        response.on("data", (chunk: Buffer) => (body += chunk.toString()))
        response.on("end", () => resolve([response.statusCode, body]))
      }
    )
    request.on("error", reject)
    request.write(before)
    request.write(header)
    let left = bytes - header.length
    const more = (): void => {
      while (left > 0) {
        const next = left < block.length ? block.subarray(0, left) : block
        left -= next.length
        if (!request.write(next)) return void request.once("drain", more)
      }
      request.end(after)
    }
    more()
  })

/** Whether {@link peakOf} works: Linux counts the memory of a process. */
export const hasPeak = existsSync("/proc/self/status")

/** The most memory that a process ever had, in bytes. */
export const peakOf = (pid: number): number => {
  const [, kilobytes = ""] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes) * 1024
}
