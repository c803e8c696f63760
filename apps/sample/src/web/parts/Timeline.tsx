/** A timeline of words. It follows the playback, and a click on a word plays from there. */
import { type RefObject, useEffect, useRef, useState } from "react"
import type { TimedWord } from "../../TimedWords.ts"

interface Props {
  readonly words: ReadonlyArray<TimedWord>
  readonly duration: number
  readonly player: RefObject<HTMLAudioElement | null>
}

/** Wide enough that words do not overlap, but limited, in case a word has almost no duration. */
const pixelsPerSecond = (words: ReadonlyArray<TimedWord>, duration: number): number => {
  const wanted = words.map(({ start, word }, index) => {
    const room = (words[index + 1]?.start ?? duration) - start
    return (word.length * 9 + 12) / Math.max(0.05, room)
  })
  return Math.min(400, Math.max(40, ...wanted))
}

/** The index of the word that a key moves to. Undefined: the key does not move. */
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
  // Tab reaches only this word. The arrow keys change it.
  const [tabStop, setTabStop] = useState(0)

  useEffect(() => {
    const audio = player.current
    if (audio === null) return
    let frame = 0
    const update = () => {
      const at = audio.currentTime
      if (playhead.current !== null) playhead.current.style.left = `${(100 * at) / duration}%`
      setCurrent(words.findLastIndex(({ end, start }) => at >= start && at < end + 0.05))
      if (!audio.paused) frame = requestAnimationFrame(update)
    }
    const restart = () => {
      cancelAnimationFrame(frame)
      update()
    }
    const events = ["play", "pause", "seeked", "ended"] as const
    for (const event of events) audio.addEventListener(event, restart)
    update()
    return () => {
      cancelAnimationFrame(frame)
      for (const event of events) audio.removeEventListener(event, restart)
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
    // A browser can refuse to play. The position is set anyway.
    audio.play().catch(() => {})
  }

  const moveFocus = (next: number) => {
    setTabStop(next)
    track.current?.querySelector<HTMLElement>(`[data-word="${next}"]`)?.focus()
  }

  return (
    <div
      className="timeline"
      ref={track}
      role="toolbar"
      aria-label="Timeline of words. The arrow keys move between words."
      tabIndex={-1}
      onKeyDown={(event) => {
        const to = wordFrom(event.key, tabStop, words.length)
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
            tabIndex={index === tabStop ? 0 : -1}
            onFocus={() => setTabStop(index)}
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
