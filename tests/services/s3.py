# An S3-compatible server for the tests: OpenStack Swift with its s3api, all of it in one process.
#
#   /usr/bin/python3 tests/services/s3.py <folder> <bucket>
#
# Creates the bucket, and prints a line with its port once it accepts requests. Ends when its standard
# input does. Needs Debian's package python3-swift.
import os
import sys
from array import array

import eventlet
import eventlet.wsgi

eventlet.monkey_patch()

from paste.deploy import loadapp
from swift.common import utils
from swift.common.ring import RingData
from swift.common.swob import Request

folder, bucket = sys.argv[1:]

# Data of tests need not survive a power failure.
os.fsync = os.fdatasync = lambda fd: None


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


servers = ["account", "container", "object"]
sockets = {name: eventlet.listen(("127.0.0.1", 0)) for name in servers}
os.makedirs(os.path.join(folder, "devices", "d1"), exist_ok=True)

utils.SWIFT_CONF_FILE = write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = test\n")
utils.HASH_PATH_SUFFIX = b"test"

# Each ring has one partition on one device.
for name, socket in sockets.items():
    device = {
        "id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "d1", "meta": "",
        "ip": "127.0.0.1", "port": socket.getsockname()[1],
        "replication_ip": "127.0.0.1", "replication_port": socket.getsockname()[1],
    }
    RingData([array("H", [0])], [device], 32).save(os.path.join(folder, name + ".ring.gz"))

common = f"""
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
log_level = ERROR
"""


def app(name):
    path = write(name + "-server.conf", f"[DEFAULT]\n{common}\n[app:main]\nuse = egg:swift#{name}\n")
    return loadapp("config:" + path, name="main")


# `other` belongs to the same account and has no rights to its buckets.
proxy = write("proxy-server.conf", f"""
[DEFAULT]
{common}
[pipeline:main]
pipeline = catch_errors cache listing_formats bulk s3api tempauth slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1

[filter:listing_formats]
use = egg:swift#listing_formats

[filter:bulk]
use = egg:swift#bulk

[filter:s3api]
use = egg:swift#s3api
location = us-east-1
allow_multipart_uploads = true

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
user_test_other = testing

[filter:slo]
use = egg:swift#slo
""")

silent = open(os.devnull, "w")


def serve(socket, application):
    eventlet.spawn(eventlet.wsgi.server, socket, application, log=silent, max_size=1000)


for name, socket in sockets.items():
    serve(socket, app(name))
listening = eventlet.listen(("127.0.0.1", 0))
serve(listening, loadapp("config:" + proxy, name="main"))
# Without the filters, and so without a signature.
created = Request.blank("/v1/AUTH_test/" + bucket, environ={"REQUEST_METHOD": "PUT"}).get_response(
    loadapp("config:" + proxy, name="proxy-server")
)
if not created.is_success:
    raise SystemExit("the bucket could not be created: " + created.status)
print(listening.getsockname()[1], flush=True)

eventlet.tpool.execute(sys.stdin.read)
os._exit(0)
