/** Plays the audio, with its waveform. */
import { type RefObject, useEffect, useMemo, useState } from "react"
import { Icon } from "../../parts/Icon.tsx"
import { decode, peaks } from "./audio.ts"
import { shortClock } from "./captions.ts"

/** The bars of the waveform. */
const bars = 240

/** What was decoded of a file. Undefined: not yet. */
export interface Decoded {
  /** Seconds. Undefined: the browser cannot decode it. */
  readonly seconds: number | undefined
  readonly peaks: ReadonlyArray<number>
}

const undecodable: Decoded = { seconds: undefined, peaks: [] }

export const useDecoded = (file: File | undefined): Decoded | undefined => {
  const [decoded, setDecoded] = useState<{ readonly file: File; readonly value: Decoded }>()
  useEffect(() => {
    if (file === undefined) return
    let isCurrent = true
    decode(file).then(
      (buffer) => {
        const value = { seconds: buffer.duration, peaks: peaks(buffer.getChannelData(0), bars) }
        if (isCurrent) setDecoded({ file, value })
      },
      () => {
        if (isCurrent) setDecoded({ file, value: undecodable })
      }
    )
    return () => {
      isCurrent = false
    }
  }, [file])
  return decoded?.file === file ? decoded?.value : undefined
}

const Wave = ({ values }: { readonly values: ReadonlyArray<number> }) => {
  const path = useMemo(
    () =>
      values.map((peak, at) => `M${at + 0.5} ${50 - Math.max(1, peak * 48)}V${50 + Math.max(1, peak * 48)}`).join(""),
    [values]
  )
  return (
    <svg viewBox={`0 0 ${bars} 100`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}

export const Player = ({
  audio,
  decoded,
  file,
  url
}: {
  readonly audio: RefObject<HTMLAudioElement | null>
  readonly file: File
  readonly url: string
  readonly decoded: Decoded | undefined
}) => {
  const [at, setAt] = useState(0)
  const [isPlaying, setPlaying] = useState(false)
  const [length, setLength] = useState(0)
  const seconds = decoded?.seconds ?? length
  useEffect(() => {
    if (!isPlaying) return
    let frame = 0
    const tick = () => {
      setAt(audio.current?.currentTime ?? 0)
      frame = requestAnimationFrame(tick)
    }
    tick()
    return () => cancelAnimationFrame(frame)
  }, [audio, isPlaying])
  const toggle = () => {
    const element = audio.current
    if (element === null) return
    if (element.paused) void element.play().catch(() => setPlaying(false))
    else element.pause()
  }
  return (
    <div className="player">
      <button type="button" aria-label={isPlaying ? "Pause" : "Play"} onClick={toggle}>
        <Icon name={isPlaying ? "pause" : "play"} />
      </button>
      <div className="wave">
        <div className="played" style={{ width: `${seconds > 0 ? (100 * at) / seconds : 0}%` }} />
        {decoded !== undefined && <Wave values={decoded.peaks} />}
        <input
          type="range"
          aria-label="Position in the audio"
          aria-valuetext={`${shortClock(at)} of ${shortClock(seconds)}`}
          min={0}
          max={seconds}
          step="any"
          value={at}
          onChange={({ target }) => {
            if (audio.current !== null) audio.current.currentTime = Number(target.value)
            setAt(Number(target.value))
          }}
        />
      </div>
      <span className="figures">
        {shortClock(at)} / {shortClock(seconds)}
      </span>
      <p className="hint">
        {file.name}, {(file.size / 1000).toFixed(1)} kB
        {decoded !== undefined && decoded.seconds === undefined && ". This browser cannot show its waveform"}
      </p>
      <audio
        ref={audio}
        src={url}
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onSeeked={() => setAt(audio.current?.currentTime ?? 0)}
        onLoadedMetadata={({ currentTarget }) =>
          setLength(Number.isFinite(currentTarget.duration) ? currentTarget.duration : 0)
        }
      />
    </div>
  )
}
