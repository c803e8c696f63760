const Destinations = () => null

export default Destinations
