/**
 * A double of Deepgram's API for recorded audio on a loopback socket. It checks requests as
 * strictly as the documentation allows, and answers as documented:
 * https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded and
 * https://developers.deepgram.com/docs/errors.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world", and so is a WAV file whose samples are these bytes. By hand:
 *
 *     node tests/doubles/src/DeepgramDouble.mjs <key> [port]
 */
import { createHash, randomUUID } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"

const error = (status, err_code, err_msg) => ({ status, body: { err_code, err_msg, request_id: randomUUID() } })

export const documentedErrors = {
  corrupt: error(400, "Bad Request", "Bad Request: failed to process audio: corrupt or unsupported data"),
  noModel: error(400, "Bad Request", "Bad Request: No such model/language/tier combination found."),
  invalidKey: error(401, "INVALID_AUTH", "Invalid credentials."),
  noCredit: error(
    402,
    "ASR_PAYMENT_REQUIRED",
    "Project does not have enough credits for an ASR request and does not have an overage agreement."
  ),
  noPermission: error(403, "INSUFFICIENT_PERMISSIONS", "User does not have sufficient permissions."),
  slowUpload: error(408, "SLOW_UPLOAD", "Payload upload was too slow"),
  tooLarge: error(413, "PAYLOAD_ERROR", "Payload Too Large"),
  rateLimit: error(429, "TOO_MANY_REQUESTS", "Too many requests. Please try again later"),
  server: error(500, "INTERNAL_SERVER_ERROR", "Internal server error"),
  timeout: error(504, "Gateway Timeout", "The server timed out before it had a transcript")
}

const spoken = (query, words) =>
  words.map((word, at) => ({
    word,
    start: at,
    end: at + 0.5,
    confidence: 0.99,
    ...(query.get("diarize") === "true" ? { speaker: at % 2, speaker_confidence: 0.8 } : {}),
    ...(query.get("smart_format") === "true" ? { punctuated_word: at === words.length - 1 ? `${word}.` : word } : {})
  }))

const utterancesOf = (words) =>
  words.map((word) => ({
    start: word.start,
    end: word.end,
    confidence: word.confidence,
    channel: 0,
    transcript: word.punctuated_word ?? word.word,
    words: [word],
    ...(word.speaker === undefined ? {} : { speaker: word.speaker }),
    id: randomUUID()
  }))

const transcribe = (query, bytes) => {
  const [, said] = /^(?:RIFF.*data.{4})?speech: (.*)$/s.exec(Buffer.from(bytes).toString("utf8")) ?? []
  if (said === undefined) return documentedErrors.corrupt
  const words = spoken(query, said.split(" "))
  const transcript = words.map((word) => word.punctuated_word ?? word.word).join(" ")
  const last = words.at(-1)
  return {
    body: {
      metadata: {
        transaction_key: "deprecated",
        request_id: randomUUID(),
        sha256: createHash("sha256").update(bytes).digest("hex"),
        created: "2026-11-22T00:00:00.000Z",
        duration: words.length,
        channels: 1,
        models: ["2187e11a-3532-4498-b076-81fa530bdd49"],
        model_info: {}
      },
      results: {
        channels: [
          {
            alternatives: [
              {
                transcript,
                confidence: 0.99,
                words,
                ...(query.get("smart_format") === "true"
                  ? {
                      paragraphs: {
                        transcript: `\n${transcript}`,
                        paragraphs: [
                          {
                            sentences: [{ text: transcript, start: 0, end: last.end }],
                            num_words: words.length,
                            start: 0,
                            end: last.end
                          }
                        ]
                      }
                    }
                  : {})
              }
            ],
            ...(query.get("detect_language") === "true" ? { detected_language: "en", language_confidence: 0.98 } : {})
          }
        ],
        ...(query.get("utterances") === "true" ? { utterances: utterancesOf(words) } : {})
      }
    }
  }
}

const answerTo = (request, keys) => {
  const { pathname, searchParams: query } = new URL(request.url, "http://localhost")
  if (pathname !== "/v1/listen") return { status: 404, body: { message: "Not Found" } }
  if (request.method !== "POST") return { status: 405, body: { message: "Method Not Allowed" } }
  // Bearer is for short-lived tokens, never for keys.
  const [, key] = /^token ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? "") ?? []
  if (!keys.has(key)) return documentedErrors.invalidKey
  const model = query.get("model")
  if (!["nova-3", "nova-3-medical", "nova-2"].includes(model)) return documentedErrors.noModel
  if (model === "nova-3-medical" && !/^en\b/.test(query.get("language") ?? "")) return documentedErrors.noModel
  if (query.has("language") && query.get("detect_language") === "true") {
    return error(400, "Bad Request", "Bad Request: language and detect_language cannot be used together.")
  }
  return transcribe(query, request.bytes)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startDeepgramDouble = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, startDeepgramDouble)
