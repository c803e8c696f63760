const ProviderKeys = () => null

export default ProviderKeys
