/**
 * The documents in the order of their relevance. Of many, only those in view are in the document,
 * all of the same height.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { memo, useEffect, useMemo, useRef } from "react"
import { Icon } from "../../parts/Icon.tsx"
import { type Document, textOf } from "./documents.ts"
import { changeText, mark, type Ranked, wordsOf } from "./ranking.ts"

/** Fewer are all in the document with all of their text, where it can be searched and printed. */
const virtualFrom = 100

/** The height of one of many, in pixels: in a narrow list, the text is below the score. */
const heightOf = (frame: HTMLElement | null): number => ((frame?.clientWidth ?? 0) < narrow ? 68 : 56)

/** As in the style sheet, in pixels: 34rem. */
const narrow = 544

const Change = ({ change }: { readonly change: number }) => (
  <span className="change" data-change={Math.sign(change)}>
    {change !== 0 && <Icon name={change > 0 ? "up" : "down"} />}
    {changeText(change)}
  </span>
)

const Entry = memo(
  ({
    best,
    cutOff,
    document,
    of: { change, from, rank: place, score },
    start,
    total,
    words
  }: {
    readonly of: Ranked
    readonly document: Document
    readonly words: ReadonlySet<string>
    /** The best score. */
    readonly best: number
    readonly cutOff: number
    /** How many there are, if not all of them are in the document. */
    readonly total: number | undefined
    /** Where it stands then, in pixels. */
    readonly start: number | undefined
  }) => (
    <li
      data-below={score < cutOff}
      {...(total !== undefined && {
        "aria-setsize": total,
        "aria-posinset": place,
        style: { transform: `translateY(${start}px)` }
      })}
    >
      <span className="place figures">{place}</span>
      <span className="score figures">
        {score.toFixed(4)}
        <span className="score-bar" aria-hidden="true">
          <span style={{ width: `${(100 * score) / best}%` }} />
        </span>
      </span>
      <span title={`It was document ${from} of the input.`}>
        <Change change={change} />
      </span>
      <p {...(total !== undefined && { title: textOf(document) })}>
        {mark(textOf(document), words).map(({ isMarked, text }, at) =>
          isMarked ? <mark key={at}>{text}</mark> : text
        )}
        {score < cutOff && <span className="sr"> (below the cut-off)</span>}
      </p>
    </li>
  )
)

export const Ranking = memo(
  ({
    cutOff,
    documents,
    label,
    query,
    ranked
  }: {
    readonly label: string
    readonly ranked: ReadonlyArray<Ranked>
    readonly query: string
    readonly documents: ReadonlyArray<Document>
    readonly cutOff: number
  }) => {
    const frame = useRef<HTMLDivElement>(null)
    const words = useMemo(() => wordsOf(query), [query])
    const best = useMemo(() => ranked.reduce((most, { score }) => Math.max(most, score), Number.MIN_VALUE), [ranked])
    const isVirtual = ranked.length > virtualFrom
    const virtual = useVirtualizer({
      count: isVirtual ? ranked.length : 0,
      getScrollElement: () => frame.current,
      estimateSize: () => heightOf(frame.current),
      overscan: 4
    })
    useEffect(() => {
      const place = frame.current
      if (place === null || !isVirtual) return
      const resized = new ResizeObserver(() => virtual.measure())
      resized.observe(place)
      return () => resized.disconnect()
    }, [isVirtual, virtual])
    const items = isVirtual
      ? virtual.getVirtualItems()
      : ranked.map((_, index) => ({ index, start: undefined as number | undefined }))
    return (
      <div
        ref={frame}
        className="ranking-frame"
        data-virtual={isVirtual}
        {...(isVirtual && { tabIndex: 0, role: "group", "aria-label": `${label}, scrolls` })}
      >
        <ol className="ranking" aria-label={label} {...(isVirtual && { style: { height: virtual.getTotalSize() } })}>
          {items.map(({ index, start }) => {
            const of = ranked[index]
            return (
              of !== undefined && (
                <Entry
                  key={of.index}
                  of={of}
                  document={documents[of.index] ?? ""}
                  words={words}
                  best={best}
                  cutOff={cutOff}
                  total={isVirtual ? ranked.length : undefined}
                  start={start}
                />
              )
            )
          })}
        </ol>
      </div>
    )
  }
)
