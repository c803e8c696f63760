// openapi-typescript uses the JavaScript API of the TypeScript compiler, which version 7 does not have.
module.exports = {
  hooks: {
    readPackage: (manifest) =>
      manifest.name === "openapi-typescript"
        ? {
            ...manifest,
            peerDependencies: {},
            dependencies: { ...manifest.dependencies, typescript: "5.9.3" }
          }
        : manifest
  }
}
