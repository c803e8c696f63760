/** The models that every gateway has to test how a program handles errors. */

const simulator = /^sandbox\/status-(\d{3})$/

/** The status that a model answers with always. Undefined: it is no simulator of errors. */
export const simulatedStatus = (id: string): number | undefined => {
  const status = simulator.exec(id)?.[1]
  return status === undefined ? undefined : Number(status)
}
