const Alerts = () => null

export default Alerts
