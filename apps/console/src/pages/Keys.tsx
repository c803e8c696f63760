const Keys = () => null

export default Keys
