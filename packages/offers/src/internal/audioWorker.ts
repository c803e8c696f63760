/** The measuring thread. Answers one question at a time. */
import * as Schema from "effect/Schema"
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import type { AudioFormat } from "@model-gateway/core/Transcription"
import * as Media from "mediabunny"
import { type FileHandle, open } from "node:fs/promises"
import { parentPort } from "node:worker_threads"
import { Ambiguous, type AudioBytes, ofFile, ofMemory } from "./audioBytes.ts"
import * as AudioDisguise from "./audioDisguise.ts"
import * as AudioFlac from "./audioFlac.ts"
import * as AudioFrames from "./audioFrames.ts"
import { type Answer, Location, type Message } from "./audioJob.ts"
import * as AudioMp4 from "./audioMp4.ts"
import * as AudioOgg from "./audioOgg.ts"
import * as AudioPackets from "./audioPackets.ts"
import * as AudioWav from "./audioWav.ts"
import * as AudioWebm from "./audioWebm.ts"

// The library logs oddities of a file; everything relevant is returned as an error.
Media.Logging.level = Media.LogLevel.Silent

const containers = [Media.WAVE, Media.MP3, Media.FLAC, Media.MP4, Media.QTFF, Media.OGG, Media.WEBM, Media.ADTS]

const formatOf = (format: Media.InputFormat): AudioFormat | undefined => {
  switch (format) {
    case Media.WAVE:
      return "wav"
    case Media.MP3:
      return "mp3"
    case Media.FLAC:
      return "flac"
    case Media.MP4:
    case Media.QTFF:
      return "m4a"
    case Media.OGG:
      return "ogg"
    case Media.WEBM:
      return "webm"
    case Media.ADTS:
      return "aac"
    default:
      return undefined
  }
}

const say = (message: Message): void => parentPort?.postMessage(message)

const notAudio = (message: string): Answer => ({ _tag: "NotAudio", message })

/**
 * The longest audio that any decoder can read in the file, from all of its bytes: the file's own
 * statements may be wrong, and upstreams bill what their decoder reads.
 */
const maxSecondsOf = async (format: AudioFormat, bytes: AudioBytes, input: Media.Input): Promise<number> => {
  switch (format) {
    case "wav":
      return AudioWav.seconds(bytes)
    case "mp3":
    case "aac": {
      const start = AudioFrames.afterTags(bytes)
      if (AudioDisguise.startsOther(bytes, start)) throw new Ambiguous(`the ${format} file starts as another format`)
      return AudioFrames.seconds(bytes, start)
    }
    case "flac":
      return AudioFlac.seconds(bytes, AudioFrames.afterTags(bytes))
    case "ogg":
      return AudioOgg.seconds(bytes)
    case "webm":
      return AudioWebm.seconds(bytes)
    case "m4a": {
      const { isOpus, seconds } = AudioMp4.read(bytes)
      return isOpus ? Math.max(seconds, await opusSeconds(input)) : seconds
    }
  }
}

/** The packets of the Opus tracks of an MP4 file. */
const opusSeconds = async (input: Media.Input): Promise<number> => {
  let longest = 0
  for (const track of await input.getAudioTracks()) {
    if ((await track.getCodec()) !== "opus") continue
    let seconds = 0
    for await (const { data } of new Media.EncodedPacketSink(track).packets()) seconds += AudioPackets.opus.next(data)
    longest = Math.max(longest, seconds)
  }
  return longest
}

const measure = async (source: Media.Source, bytes: AudioBytes): Promise<Answer> => {
  say({ _tag: "Begun", size: bytes.size })
  const input = new Media.Input({ source, formats: containers })
  try {
    const format = formatOf(await input.getFormat())
    if (format === undefined) return notAudio("the audio is in an unknown format")
    const stated = await trackDuration(input)
    if (stated === null) return notAudio(`the ${format} file has no audio track`)
    // Sums of fractions are a little more than the whole second.
    const read = Math.round((await maxSecondsOf(format, bytes, input)) * 1e6) / 1e6
    const duration = Math.max(stated, read)
    return Number.isFinite(duration) && duration > 0
      ? { _tag: "Measured", format, duration }
      : notAudio(`the ${format} file contains no audio`)
  } finally {
    input.dispose()
  }
}

const trackDuration = async (input: Media.Input): Promise<number | null> =>
  (await (await input.getPrimaryAudioTrack())?.computeDuration()) ?? null

const measureBytes = (bytes: Uint8Array): Promise<Answer> => measure(new Media.BufferSource(bytes), ofMemory(bytes))

/**
 * Files up to this size are measured in memory: an MP3 of 90 minutes takes the library 0.2 s there
 * and 9 s from disk.
 */
const readWhole = 64 * 1024 * 1024

/** Uploads of the usual size, 25 MB, share one buffer: a collector would free one each too late. */
const keptBytes = 32 * 1024 * 1024

let kept = new Uint8Array(0)

/** The thread measures one file at a time, so nothing else uses the buffer meanwhile. */
const bufferOf = (size: number): Uint8Array => {
  if (size > keptBytes) return new Uint8Array(size)
  if (kept.length < size) kept = new Uint8Array(size)
  return kept.subarray(0, size)
}

/** Reads a file into the buffer. A file that became shorter is as long as it is. */
const readInto = async (file: FileHandle, buffer: Uint8Array): Promise<Uint8Array> => {
  let at = 0
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return buffer.subarray(0, at)
}

const measureFile = async (path: string): Promise<Answer> => {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size <= readWhole) return await measureBytes(await readInto(file, bufferOf(size)))
    // Every read is awaited, so only the abort of a read-ahead is left to handle.
    const source = new Media.FilePathSource(path, { handleUnhandledError: () => {} })
    return await measure(source, ofFile(file.fd, size))
  } finally {
    await file.close()
  }
}

const answer = (location: Location): Promise<Answer> =>
  location._tag === "Memory" ? measureBytes(location.bytes) : measureFile(location.path)

/**
 * System errors have a code (`ENOENT`, `EIO`). Everything else is the parser failing on the
 * content.
 */
const failure = (error: unknown): Answer => {
  if (error instanceof Ambiguous) return notAudio(error.message)
  const code = ErrorCode.of(error)
  return code === undefined ? notAudio("the audio cannot be decoded") : { _tag: "Unreadable", message: code }
}

parentPort?.on("message", (message: unknown) => {
  void answer(Schema.decodeUnknownSync(Location)(message)).catch(failure).then(say)
})
