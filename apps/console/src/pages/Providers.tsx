const Providers = () => null

export default Providers
