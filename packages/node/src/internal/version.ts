/** This package's version, so that bundled programs need not read package.json. A test writes it. */
export const version = "0.0.0"
