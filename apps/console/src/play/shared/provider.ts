/** The preference for one provider. */

/** The fields of a request that only this provider may serve. Empty: any may. */
export const providerOf = (provider: string): { readonly provider?: { readonly only: ReadonlyArray<string> } } =>
  provider === "" ? {} : { provider: { only: [provider] } }
