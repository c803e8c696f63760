/** The lower bound of a start: `node:http` on the port of the first argument. */
import { createServer } from "node:http"

createServer((_request, response) => void response.end()).listen(Number(process.argv[2]), "127.0.0.1")
