/** The transcript: a paragraph for each segment, the word under the playhead, and downloads. */
import { type RefObject, useEffect, useMemo, useRef, useState } from "react"
import type { Success } from "../../api/Contract.ts"
import { count, credits } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { save } from "../shared/files.ts"
import { type Paragraph, paragraphs, shortClock, toSrt, toText, toVtt, wordAt } from "./captions.ts"

type Response = Success<"POST /audio/transcriptions">

/** Marks the word at the playhead in the document, many times a second. */
const useCurrentWord = (
  audio: RefObject<HTMLAudioElement | null>,
  root: RefObject<HTMLDivElement | null>,
  all: ReadonlyArray<Paragraph>
) => {
  useEffect(() => {
    const element = audio.current
    if (element === null) return
    const words = all.flatMap((paragraph) => paragraph.words)
    let frame = 0
    let marked: Element | null = null
    const update = () => {
      const at = wordAt(words, element.currentTime)
      const next = at < 0 ? null : (root.current?.querySelector(`[data-word="${at}"]`) ?? null)
      if (next === marked) return
      marked?.removeAttribute("data-current")
      next?.setAttribute("data-current", "true")
      marked = next
    }
    const tick = () => {
      update()
      frame = requestAnimationFrame(tick)
    }
    const play = () => tick()
    const pause = () => cancelAnimationFrame(frame)
    if (!element.paused) tick()
    element.addEventListener("play", play)
    element.addEventListener("pause", pause)
    element.addEventListener("seeked", update)
    return () => {
      pause()
      element.removeEventListener("play", play)
      element.removeEventListener("pause", pause)
      element.removeEventListener("seeked", update)
    }
  }, [audio, root, all])
}

const CopyText = ({ text }: { readonly text: string }) => {
  const [isDone, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button type="button" onClick={() => void copy()}>
      <Icon name={isDone ? "check" : "copy"} />
      <span role="status">{isDone ? "Copied" : "Copy"}</span>
    </button>
  )
}

export const TranscriptView = ({
  audio,
  name,
  response
}: {
  readonly response: Response
  readonly audio: RefObject<HTMLAudioElement | null>
  /** The name of the audio file, for those of the downloads. */
  readonly name: string
}) => {
  const root = useRef<HTMLDivElement>(null)
  const all = useMemo(() => paragraphs(response), [response])
  useCurrentWord(audio, root, all)
  const seek = (seconds: number) => {
    if (audio.current !== null) audio.current.currentTime = seconds
  }
  const base = name.replace(/\.\w+$/, "")
  const files = [
    ["TXT", "txt", "text/plain", () => toText(all)],
    ["SRT", "srt", "application/x-subrip", () => toSrt(all)],
    ["VTT", "vtt", "text/vtt", () => toVtt(all)],
    ["JSON", "json", "application/json", () => JSON.stringify(response, null, 2)]
  ] as const
  const words = all.reduce((sum, paragraph) => sum + paragraph.words.length, 0)
  let next = 0
  return (
    <>
      <div className="bar">
        <p className="hint figures">
          {[
            ...(words > 0 ? [`${count(words)} words`] : []),
            ...(response.duration === undefined ? [] : [`${response.duration.toFixed(1)} s of audio`]),
            ...(response.language === undefined ? [] : [`language ${response.language}`]),
            ...(response.usage?.cost === undefined ? [] : [`${credits(response.usage.cost)} credits`])
          ].join(" · ")}
        </p>
        <span className="end bar">
          <CopyText text={toText(all)} />
          {files.map(([title, extension, type, make]) => (
            <button key={title} type="button" onClick={() => save(`${base}.${extension}`, type, make())}>
              <Icon name="download" />
              {title}
            </button>
          ))}
        </span>
      </div>
      {response.warnings?.map((warning) => (
        <p key={warning} className="hint">
          <Icon name="warning" /> {warning}
        </p>
      ))}
      {all.length === 0 ? (
        <p className="empty">No words were found in this recording.</p>
      ) : (
        <div
          ref={root}
          className="transcript"
          onClick={({ target }) => {
            const start = target instanceof HTMLElement ? target.dataset["start"] : undefined
            if (start !== undefined) seek(Number(start))
          }}
        >
          {all.map((paragraph, index) => (
            <div key={index} className="paragraph">
              <button
                type="button"
                className="quiet figures"
                aria-label={`Go to ${shortClock(paragraph.start)}`}
                onClick={() => seek(paragraph.start)}
              >
                {shortClock(paragraph.start)}
              </button>
              <p>
                {paragraph.speaker !== undefined && <strong>Speaker {paragraph.speaker + 1}: </strong>}
                {paragraph.words.length === 0
                  ? paragraph.text
                  : paragraph.words.map(({ before, start, text }) => {
                      const at = next++
                      return (
                        <span key={at}>
                          {before}
                          <span data-word={at} data-start={start}>
                            {text}
                          </span>
                        </span>
                      )
                    })}
              </p>
            </div>
          ))}
        </div>
      )}
    </>
  )
}
