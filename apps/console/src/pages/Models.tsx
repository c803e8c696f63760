const Models = () => null

export default Models
