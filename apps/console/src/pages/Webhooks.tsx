const Webhooks = () => null

export default Webhooks
