/** What the renderer of title cards can make. */

export const shortestSide = 64

export const greatestShortSide = 1080

/** 1080p at 21:9. */
export const greatestLongSide = 2520

/** In seconds. */
export const maxDuration = 60

/** A longer prompt never fits, and measuring it would take long. */
export const longestPrompt = 2000

/** The prompt as it is drawn, in UTF-16 code units at most {@link longestPrompt}. */
export const drawnPrompt = (prompt: string): string =>
  prompt
    .slice(0, longestPrompt)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
