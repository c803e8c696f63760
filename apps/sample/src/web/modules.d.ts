// What the bundler makes of imports that are no TypeScript.
declare module "*?raw" {
  const text: string
  export default text
}
declare module "*.css"
