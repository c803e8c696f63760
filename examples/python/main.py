"""Ranks documents, uploads a file, and makes a video: `python3 main.py README.md dawn.mp4`."""

import sys
from pathlib import Path

from model_gateway import Gateway, GatewayError, VideoNotCompleted


def main(source: Path, target: Path) -> None:
    gateway = Gateway.from_environment()

    ranked = gateway.rerank(model="sandbox/bm25", query="pears", documents=["apples", "pears"])
    print(f"Best document: {ranked['results'][0]['document']['text']}")

    file = gateway.upload(source)
    print(f"Uploaded {file['filename']} ({file['size_bytes']} bytes)")

    job = gateway.submit_video(model="sandbox/title-card", prompt="Dawn", duration=1, size="320x240")
    job = gateway.wait_for_video(job["id"], on_change=lambda job: print(f"Video is {job['status']}"))
    gateway.download_video(job["id"], target)
    print(f"Saved {target} for {job['usage']['cost']} credits")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except (GatewayError, VideoNotCompleted, TimeoutError) as failure:
        sys.exit(str(failure))
