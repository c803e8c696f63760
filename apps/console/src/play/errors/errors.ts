/** What each error of the gateway means, and how a program handles it. */

/** What a program does about an error. */
export interface ErrorKind {
  readonly status: number
  readonly title: string
  /** When the gateway answers with it. */
  readonly meaning: string
  /** What the program does. */
  readonly handling: string
}

/** The errors that the simulators answer with. */
export const errorKinds: ReadonlyArray<ErrorKind> = [
  {
    status: 400,
    title: "The request is wrong",
    meaning: "A field is missing, out of its bounds, or the model does not support it.",
    handling: "Do not retry. error.metadata.issues names each field and what is wrong with it."
  },
  {
    status: 401,
    title: "The key is wrong",
    meaning: "The key is missing, unknown, disabled, deleted or expired.",
    handling: "Do not retry with the same key. A page gets another short-lived key from its server."
  },
  {
    status: 402,
    title: "Too few credits",
    meaning: "The credits of the workspace, or the limit of the key or its guardrail, do not suffice.",
    handling: "Do not retry. Tell the operator to add credits or to raise the limit."
  },
  {
    status: 403,
    title: "Not allowed",
    meaning: "The key may not call the operation, or its guardrail excludes the model or the provider.",
    handling: "Do not retry. Use another key or another model."
  },
  {
    status: 404,
    title: "Not found",
    meaning: "There is no such model, or none of its providers may serve the request.",
    handling: "Do not retry. GET /models lists what there is."
  },
  {
    status: 413,
    title: "Too large",
    meaning: "The body is larger than the operation allows.",
    handling: "Do not retry. Send less: fewer documents, a shorter recording."
  },
  {
    status: 429,
    title: "Too many requests",
    meaning: "The key has sent more requests than its rate allows, or the provider's rate is used up.",
    handling: "Wait for the seconds in Retry-After, then retry with the same Idempotency-Key."
  },
  {
    status: 500,
    title: "The gateway failed",
    meaning: "Something went wrong inside the gateway.",
    handling: "Retry a few times with the same Idempotency-Key. If it lasts, report the request id."
  },
  {
    status: 502,
    title: "The provider failed",
    meaning: "The provider answered with an error or with something that is not an answer.",
    handling: "Retry, or use a model that other providers offer too."
  },
  {
    status: 503,
    title: "Not available",
    meaning: "No provider can serve the request now, such as after many failures.",
    handling: "Wait for the seconds in Retry-After, then retry."
  },
  {
    status: 504,
    title: "The gateway ran out of time",
    meaning: "The request took longer than the gateway allows.",
    handling: "Retry with the same Idempotency-Key, or send less."
  },
  {
    status: 524,
    title: "The provider ran out of time",
    meaning: "The provider did not answer in time.",
    handling: "Retry, or send less."
  },
  {
    status: 529,
    title: "The provider has too much to do",
    meaning: "The provider asks its clients to come back later.",
    handling: "Wait for the seconds in Retry-After, then retry, or use another model."
  }
]
