/** Speakers as the contract has them: integers, counted from 0 in the order in which they speak. */

/** Numbers the labels of one transcript, such as `speaker_1`, `A` or `agent`. */
export const numbered = (): ((label: string | null | undefined) => { readonly speaker?: number }) => {
  const numbers = new Map<string, number>()
  return (label) => {
    if (label === undefined || label === null) return {}
    const speaker = numbers.get(label) ?? numbers.size
    numbers.set(label, speaker)
    return { speaker }
  }
}
