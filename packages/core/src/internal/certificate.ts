/** Certificates that the platform does not accept. */
import * as ErrorCode from "../unstable/ErrorCode.ts"

/** The platform's code, such as `ECONNREFUSED`. That of Node's `fetch` is in the error's cause. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error ? (ErrorCode.of(error) ?? ErrorCode.of(error.cause)) : undefined

const authority = /^(UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT)/
const other = /^(CERT_|ERR_TLS_CERT_|ERROR_IN_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/

/**
 * What to do about an error of a certificate; undefined for other errors. Another attempt fails,
 * too.
 */
export const advice = (error: unknown): string | undefined => {
  const code = codeOf(error) ?? ""
  if (authority.test(code)) {
    return "This machine does not trust the authority of the certificate. If you trust it, set NODE_EXTRA_CA_CERTS=/path/to/ca.pem in the environment of the program."
  }
  return other.test(code) ? "Check the certificate and the host name of the base URL." : undefined
}
