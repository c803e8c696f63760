import { receiveUpload } from "@model-gateway/node/promise"
import { gateway, route } from "../../server.ts"

// `request.formData()` would read the whole file into memory.
export const POST = route(async (request) => {
  await using upload = await receiveUpload(request)
  const audio = { file: upload.file, filename: upload.filename }
  const { text } = await (await gateway()).transcribe({ model: "sandbox/tones", ...audio }, { signal: request.signal })
  return Response.json({ text })
})
