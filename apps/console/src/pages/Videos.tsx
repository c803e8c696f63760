const Videos = () => null

export default Videos
