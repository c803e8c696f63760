/** The seconds that a transcription is charged for. */
import type { Charge } from "@model-gateway/offers/Pricing"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"

/**
 * The counts of a charge per second: the length of the audio, and what was billed where that is
 * another number, such as a minimum. Callers see the first one only, the request log shows both.
 */
export const secondsUsage = ({ audio }: TranscriptionRequest, billed: number): Charge["usage"] => {
  const { durationSeconds } = audio
  return billed === durationSeconds
    ? { seconds: durationSeconds }
    : { seconds: durationSeconds, billed_seconds: billed }
}
