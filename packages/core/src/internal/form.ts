/** Builds the multipart forms of the contract. */

/** Adds the file. A Blob is added as it is, so that it can be streamed. */
export const appendFile = (form: FormData, file: Blob | Uint8Array, filename: string | undefined): void => {
  // Copied, because a Blob does not accept a view into shared memory.
  const blob = file instanceof Blob ? file : new Blob([new Uint8Array(file)])
  form.append("file", blob, filename ?? (blob instanceof File ? blob.name : "file"))
}

/** The form that uploads a stored file. */
export const fileForm = (request: {
  readonly file: Blob | Uint8Array
  readonly filename?: string | undefined
  readonly purpose?: string | undefined
}): FormData => {
  const form = new FormData()
  if (request.purpose !== undefined) form.append("purpose", request.purpose)
  appendFile(form, request.file, request.filename)
  return form
}
