// Finds the programs that speak and hear for the test of a transcription, or installs Debian's
// packages as root: espeak-ng speaks, sox changes the sample rate, pocketsphinx hears.
//
//   node tests/services/src/speech.mjs            finds or installs, prints their paths
//   node tests/services/src/speech.mjs --find     only finds; prints nothing and exits with 1 if one is missing
//
// SPEECH_INSTALL=never forbids the installation. `npm test` calls it before the tests. Without the
// programs the test is skipped, and with CI=true the run fails.
import { fileURLToPath } from "node:url"
import { findProgram, installPackages, isRoot } from "./apt.mjs"

const packages = ["espeak-ng", "sox", "pocketsphinx", "pocketsphinx-en-us"]

/**
 * The paths of the three programs, or undefined if one is missing. Version 5 of PocketSphinx has
 * another name.
 */
export const findSpeech = () => {
  const espeak = findProgram("espeak-ng")
  const sox = findProgram("sox")
  const pocketsphinx = findProgram("pocketsphinx_continuous", "pocketsphinx")
  return espeak === undefined || sox === undefined || pocketsphinx === undefined
    ? undefined
    : { espeak, sox, pocketsphinx }
}

/** The programs for a test. Undefined where one is missing: then the test is skipped. */
export const speechPrograms = () => {
  const found = findSpeech()
  if (found === undefined && process.env.CI) throw new Error("no programs for speech; `npm test` says why")
  return found
}

/**
 * The programs, installed if necessary; undefined if they are not there and could not be installed.
 */
export const ensureSpeech = () => {
  const found = findSpeech()
  if (found !== undefined || process.env.SPEECH_INSTALL === "never" || !isRoot) return found
  console.log(
    `No programs for speech were found for the test of a transcription. Installing as root with apt-get: ${packages.join(", ")} ` +
      "(about 40 MB). SPEECH_INSTALL=never forbids it."
  )
  return installPackages(...packages) ? findSpeech() : undefined
}

export const noSpeech =
  (process.env.SPEECH_INSTALL === "never"
    ? "No programs for speech were found, and SPEECH_INSTALL=never forbids installing them, so real speech cannot be transcribed in a test. "
    : "No programs for speech were found and none could be installed, so real speech cannot be transcribed in a test. ") +
  `Install them (Debian: apt-get install ${packages.join(" ")}).`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = process.argv.includes("--find") ? findSpeech() : ensureSpeech()
  if (found !== undefined) console.log(Object.values(found).join("\n"))
  else {
    if (!process.argv.includes("--find")) console.error(noSpeech)
    process.exitCode = 1
  }
}
