// Imports of other files than TypeScript, which the bundler resolves.
declare module "*?raw" {
  const text: string
  export default text
}
declare module "*.css"
