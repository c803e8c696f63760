/**
 * Messages between the primary process of `serve --workers` and its workers. During an upgrade their
 * versions may differ, so each ignores the messages that it does not know.
 */
import { Schema, SchemaParser } from "effect"

/** A worker serves requests. `banner` is what a single process would have printed. */
const Ready = Schema.Struct({ kind: Schema.Literal("ready"), banner: Schema.String })

/** A worker is asked for the metrics of all. */
const ScrapeAll = Schema.Struct({ kind: Schema.Literal("scrapeAll"), id: Schema.Int })

/** The metrics of a worker. */
const Scraped = Schema.Struct({ kind: Schema.Literal("scraped"), id: Schema.Int, text: Schema.String })

/** What a worker says. */
export const FromWorker = Schema.Union([Ready, ScrapeAll, Scraped])
export type FromWorker = typeof FromWorker.Type

/** Ends after its requests. */
const Stop = Schema.Struct({ kind: Schema.Literal("stop") })

/** Reads the settings again. */
const Reload = Schema.Struct({ kind: Schema.Literal("reload") })

/** Sends its own metrics. */
const Scrape = Schema.Struct({ kind: Schema.Literal("scrape"), id: Schema.Int })

/** The metrics of all workers. */
const ScrapedAll = Schema.Struct({ kind: Schema.Literal("scrapedAll"), id: Schema.Int, text: Schema.String })

/** A message to a worker. */
export const ToWorker = Schema.Union([Stop, Reload, Scrape, ScrapedAll])
export type ToWorker = typeof ToWorker.Type

/** Whether a message is one of a worker. */
export const isFromWorker = SchemaParser.is(FromWorker)

/** Whether a message is one to a worker. */
export const isToWorker = SchemaParser.is(ToWorker)
