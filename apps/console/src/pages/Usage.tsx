const Usage = () => null

export default Usage
