const Workspaces = () => null

export default Workspaces
