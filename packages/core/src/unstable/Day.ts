/**
 * Days as text: `2026-11-24`.
 *
 * @since 0.1.0
 */

/**
 * Whether the text is a day that exists: `2026-02-30` does not.
 *
 * @category guards
 * @since 0.1.0
 */
export const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const millis = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(text)
}
