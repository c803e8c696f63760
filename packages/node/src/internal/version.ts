/** This package's version: bundled programs have no package.json. A test writes it. */
export const version = "0.1.0"
