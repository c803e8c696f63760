interface Track {
  /** Durations of an edit list in milliseconds. Default: none. */
  readonly edits?: ReadonlyArray<number>
  readonly frames: number
  /** Default: `vide`. */
  readonly kind?: string
  /** Default: 1000. */
  readonly scale?: number
  /** The frames of the table of sizes. Default: `frames`. */
  readonly sizes?: number
  /** The time of a frame. */
  readonly step: number
  /** The time that the header says. Default: that of the frames. */
  readonly stated?: number
}

export declare const mp4: (options: {
  readonly boxes?: ReadonlyArray<string>
  readonly stated?: number
  readonly tracks: ReadonlyArray<Track>
}) => Buffer

export declare const mp4Uri: (seconds: number) => string
