const Overview = () => null

export default Overview
