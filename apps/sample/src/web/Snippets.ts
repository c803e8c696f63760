// oxlint-disable import/default -- with `?raw` the bundler makes a module's text its default export
/**
 * The example code beside each panel, as text. Each example is a module that is compiled with the
 * page, so it cannot become outdated.
 */
import rerank from "./snippets/rerank.ts?raw"
import transcription from "./snippets/transcription.ts?raw"
import video from "./snippets/video.ts?raw"
import files from "./snippets/files.ts?raw"
import key from "./snippets/key.ts?raw"
import guardrail from "./snippets/guardrail.ts?raw"
import program from "./snippets/program.ts?raw"

export const snippets = { rerank, transcription, video, files, key, guardrail, program }
