/**
 * Words where they are said, along the recording; it follows the playback, and a word clicked on is
 * played.
 */
import { type RefObject, useEffect, useRef, useState } from "react"
import type { TimedWord } from "../../TimedWords.ts"

interface Props {
  readonly words: ReadonlyArray<TimedWord>
  readonly duration: number
  readonly player: RefObject<HTMLAudioElement | null>
}

/**
 * So wide that each word fits before the next begins; one that is said in no time at all does not
 * stretch the rest.
 */
const pixelsPerSecond = (words: ReadonlyArray<TimedWord>, duration: number): number => {
  const wanted = words.map(({ start, word }, index) => {
    const room = (words[index + 1]?.start ?? duration) - start
    return (word.length * 9 + 12) / Math.max(0.05, room)
  })
  return Math.min(400, Math.max(40, ...wanted))
}

/** The word that a key moves to; undefined for the keys that do not move. */
const wordFrom = (key: string, at: number, count: number): number | undefined => {
  switch (key) {
    case "ArrowLeft":
      return Math.max(0, at - 1)
    case "ArrowRight":
      return Math.min(count - 1, at + 1)
    case "Home":
      return 0
    case "End":
      return count - 1
    default:
      return undefined
  }
}

const seconds = (at: number): string => `${at.toFixed(1)} s`

export const Timeline = ({ duration, player, words }: Props) => {
  const track = useRef<HTMLDivElement>(null)
  const playhead = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(-1)
  // The one word that Tab reaches; the arrow keys move it.
  const [stop, setStop] = useState(0)

  useEffect(() => {
    const audio = player.current
    if (audio === null) return
    let frame = 0
    const look = () => {
      const at = audio.currentTime
      if (playhead.current !== null) playhead.current.style.left = `${(100 * at) / duration}%`
      setCurrent(words.findLastIndex(({ end, start }) => at >= start && at < end + 0.05))
      if (!audio.paused) frame = requestAnimationFrame(look)
    }
    const begin = () => {
      cancelAnimationFrame(frame)
      look()
    }
    const events = ["play", "pause", "seeked", "ended"] as const
    for (const event of events) audio.addEventListener(event, begin)
    look()
    return () => {
      cancelAnimationFrame(frame)
      for (const event of events) audio.removeEventListener(event, begin)
    }
  }, [duration, player, words])

  useEffect(() => {
    const box = track.current
    const word = box?.querySelector<HTMLElement>(`[data-word="${current}"]`)
    if (box == null || word == null) return
    const before = word.offsetLeft < box.scrollLeft
    const after = word.offsetLeft + word.offsetWidth > box.scrollLeft + box.clientWidth
    if (before || after) box.scrollLeft = word.offsetLeft - box.clientWidth / 3
  }, [current])

  const play = (at: number) => {
    const audio = player.current
    if (audio === null) return
    audio.currentTime = at
    // A browser may refuse to play; the place is set all the same.
    audio.play().catch(() => {})
  }

  const moveFocus = (next: number) => {
    setStop(next)
    track.current?.querySelector<HTMLElement>(`[data-word="${next}"]`)?.focus()
  }

  return (
    <div
      className="timeline"
      ref={track}
      role="toolbar"
      aria-label="Words on a time line. The arrow keys move between words."
      tabIndex={-1}
      onKeyDown={(event) => {
        const to = wordFrom(event.key, stop, words.length)
        if (to === undefined) return
        event.preventDefault()
        moveFocus(to)
      }}
    >
      <div style={{ width: `max(100%, ${Math.ceil(duration * pixelsPerSecond(words, duration))}px)` }}>
        {words.map(({ end, start, word }, index) => (
          <button
            key={index}
            type="button"
            data-word={index}
            aria-current={index === current ? "true" : undefined}
            aria-label={`${word}, at ${seconds(start)}`}
            title={`${seconds(start)} to ${seconds(end)}`}
            style={{ left: `${(100 * start) / duration}%`, width: `${(100 * (end - start)) / duration}%` }}
            tabIndex={index === stop ? 0 : -1}
            onFocus={() => setStop(index)}
            onClick={() => play(start)}
          >
            {word}
          </button>
        ))}
        {Array.from({ length: Math.floor(duration) + 1 }, (_, at) => (
          <span key={at} className="tick" aria-hidden="true" style={{ left: `${(100 * at) / duration}%` }}>
            {at} s
          </span>
        ))}
        <div ref={playhead} className="playhead" aria-hidden="true" />
      </div>
    </div>
  )
}
