const Audit = () => null

export default Audit
