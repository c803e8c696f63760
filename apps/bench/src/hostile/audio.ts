/** Audio for requests. */

/** Silence of this many bytes: 16 bits, 8000 samples per second. */
export const silence = (bytes: number): Buffer => {
  const header = Buffer.alloc(44)
  header.write("RIFF", 0)
  header.writeUInt32LE(bytes - 8, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(8000, 24)
  header.writeUInt32LE(16_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write("data", 36)
  header.writeUInt32LE(bytes - 44, 40)
  return Buffer.concat([header, Buffer.alloc(bytes - 44)])
}

/** A multipart form with text fields and one file. */
export const form = (
  fields: Readonly<Record<string, string>>,
  file: { readonly name: string; readonly bytes: Uint8Array }
): { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer } => {
  const boundary = "model-gateway-boundary"
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([
      Buffer.from(texts.join("")),
      Buffer.from(`${part(`name="file"; filename="${file.name}"`)}Content-Type: application/octet-stream\r\n\r\n`),
      file.bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`)
    ])
  }
}
