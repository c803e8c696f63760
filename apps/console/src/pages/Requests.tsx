const Requests = () => null

export default Requests
