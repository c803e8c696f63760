/** Paragraphs and captions of a transcript. Times are in seconds from the start of the audio. */

interface RawWord {
  readonly word?: string
  readonly start?: number
  readonly end?: number
}

interface RawSegment {
  readonly text?: string
  readonly start?: number
  readonly end?: number
  readonly speaker?: number
}

/** A transcript, with the times that the provider gives. */
export interface Transcript {
  readonly text: string
  readonly duration?: number
  readonly segments?: ReadonlyArray<RawSegment>
  readonly words?: ReadonlyArray<RawWord>
}

export interface Word {
  /** What stands before it in the paragraph: nothing, a space, punctuation. */
  readonly before: string
  readonly text: string
  readonly start: number
  readonly end: number
}

export interface Paragraph {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Empty if the words have no times. */
  readonly words: ReadonlyArray<Word>
  /** The number of the speaker, if the model tells speakers apart. */
  readonly speaker?: number | undefined
}

const timed = (words: ReadonlyArray<RawWord> = []): ReadonlyArray<Word> =>
  words.flatMap(({ end, start, word }) =>
    word === undefined || start === undefined || end === undefined
      ? []
      : [{ before: " ", text: word.trim(), start, end }]
  )

/**
 * The words as they stand in a text. Models write a text with punctuation that its words lack, and
 * some languages have no spaces. Undefined: the words are not those of the text.
 */
const placed = (words: ReadonlyArray<Word>, text: string): ReadonlyArray<Word> | undefined => {
  const found: Array<Word> = []
  let done = 0
  for (const word of words) {
    const at = text.indexOf(word.text, done)
    if (at < 0) return undefined
    found.push({ ...word, before: text.slice(done, at) })
    done = at + word.text.length
  }
  const last = found.pop()
  return last === undefined ? [] : [...found, { ...last, text: last.text + text.slice(done) }]
}

/** A pause of this length begins a paragraph, if there are no segments. */
const pause = 1.5

/** The most words of a paragraph, if there are no segments. */
const maxWords = 60

const joined = (words: ReadonlyArray<Word>): string =>
  words
    .map(({ before, text }) => before + text)
    .join("")
    .trim()

const ofWords = (words: ReadonlyArray<Word>): ReadonlyArray<Paragraph> => {
  const groups: Array<Array<Word>> = []
  for (const word of words) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group === undefined || last === undefined || word.start - last.end >= pause || group.length >= maxWords) {
      groups.push([word])
    } else group.push(word)
  }
  return groups.map((group) => ({
    start: group[0]?.start ?? 0,
    end: group.at(-1)?.end ?? 0,
    text: joined(group),
    words: group
  }))
}

/** The paragraphs: one for each segment, or by pauses, or the text as a whole. */
export const paragraphs = (transcript: Transcript): ReadonlyArray<Paragraph> => {
  const words = timed(transcript.words)
  const segments = (transcript.segments ?? []).flatMap(({ end, speaker, start, text }) =>
    start === undefined || end === undefined ? [] : [{ start, end, speaker, text: (text ?? "").trim() }]
  )
  if (segments.length === 0) {
    if (words.length > 0) return ofWords(words)
    const text = transcript.text.trim()
    return text === "" ? [] : [{ start: 0, end: transcript.duration ?? 0, text, words: [] }]
  }
  // Each word belongs to the last segment that has begun at its middle.
  const groups = segments.map((): Array<Word> => [])
  let at = 0
  for (const word of words) {
    const middle = (word.start + word.end) / 2
    while (at + 1 < segments.length && (segments[at + 1]?.start ?? Infinity) <= middle) at++
    groups[at]?.push(word)
  }
  return segments.flatMap((segment, index) => {
    const own = groups[index] ?? []
    const text = segment.text === "" ? joined(own) : segment.text
    return text === "" ? [] : [{ ...segment, text, words: placed(own, text) ?? own }]
  })
}

/** The index of the word at a time, counted over all paragraphs. -1: none has begun. */
export const wordAt = (words: ReadonlyArray<Word>, time: number): number => {
  let low = 0
  let high = words.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((words[middle]?.start ?? 0) <= time) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** A caption. */
interface Cue {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Two lines of 42 characters, which most players show. */
const maxCharacters = 84
const maxSeconds = 7

/** Splits paragraphs into captions that can be read, at words. */
export const cues = (all: ReadonlyArray<Paragraph>): ReadonlyArray<Cue> =>
  all.flatMap(({ end, start, text, words }) => {
    if (words.length === 0) return [{ start, end, text }]
    const parts: Array<{ start: number; end: number; text: string }> = []
    for (const word of words) {
      const part = parts.at(-1)
      const next = part === undefined ? word.text : part.text + word.before + word.text
      if (part === undefined || next.length > maxCharacters || word.end - part.start > maxSeconds) {
        parts.push({ start: word.start, end: word.end, text: word.text })
      } else {
        part.text = next
        part.end = word.end
      }
    }
    return parts
  })

const pad = (value: number, length: number): string => String(value).padStart(length, "0")

const clock = (seconds: number, separator: string): string => {
  const ms = Math.max(0, Math.round(seconds * 1000))
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60]
  return `${parts.map((part) => pad(part, 2)).join(":")}${separator}${pad(ms % 1000, 3)}`
}

/** A time for people, such as `1:05` or `1:00:05`. */
export const shortClock = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds))
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor(whole / 60) % 60
  return hours > 0 ? `${hours}:${pad(minutes, 2)}:${pad(whole % 60, 2)}` : `${minutes}:${pad(whole % 60, 2)}`
}

/** Captions as SubRip. */
export const toSrt = (all: ReadonlyArray<Paragraph>): string =>
  cues(all)
    .map(({ end, start, text }, index) => `${index + 1}\n${clock(start, ",")} --> ${clock(end, ",")}\n${text}\n`)
    .join("\n")

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** Captions as WebVTT. */
export const toVtt = (all: ReadonlyArray<Paragraph>): string =>
  [
    "WEBVTT\n",
    ...cues(all).map(({ end, start, text }) => `${clock(start, ".")} --> ${clock(end, ".")}\n${escaped(text)}\n`)
  ].join("\n")

/** The text, a paragraph on each line. */
export const toText = (all: ReadonlyArray<Paragraph>): string => all.map(({ text }) => `${text}\n`).join("\n")
