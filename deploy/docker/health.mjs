// The health check of the image: asks the gateway in this container whether it runs. Its settings
// are those of the variables, because only they are the same for every process in the container.
import { request as http } from "node:http"
import { request as https } from "node:https"

const { MODEL_GATEWAY_PORT: port = "8787", MODEL_GATEWAY_TLS_CERT: certificate } = process.env
// The certificate is of the public name, not of this address.
const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false, timeout: 4000 }

const request = (certificate ? https : http)(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
request.on("timeout", () => request.destroy(new Error("no answer within 4 seconds")))
request.on("error", ({ message }) => {
  console.error(message)
  process.exit(1)
})
request.end()
