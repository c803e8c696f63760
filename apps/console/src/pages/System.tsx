const System = () => null

export default System
