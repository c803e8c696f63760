/** The perl for a test. Undefined where there is none: then the test is skipped. */
export declare const perlProgram: () => string | undefined
