/** What the renderer of title cards can make. */

export const minSide = 64

export const maxShortSide = 1080

/** 1080p at 21:9. */
export const maxLongSide = 2520

/** In seconds. */
export const maxDuration = 60

/** A longer prompt never fits, and measuring it would take long. */
export const maxPromptLength = 2000

/** The prompt as it is drawn, in UTF-16 code units at most {@link maxPromptLength}. */
export const drawnPrompt = (prompt: string): string =>
  prompt
    .slice(0, maxPromptLength)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
