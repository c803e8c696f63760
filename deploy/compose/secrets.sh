#!/bin/sh
# Makes the secrets of compose.yaml and compose.full.yaml, each once: what is there already stays.
#
# Compose mounts these files as they are, and the processes in the containers run as other users. So
# the folder keeps other users of this machine out, not the files.
set -eu
if ! command -v openssl > /dev/null; then
  echo "secrets.sh needs openssl. Install it and run this again." >&2
  exit 1
fi
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets
umask 022

# Writes standard input to the file, unless it is there. A file that is not empty is complete.
write() {
  if [ -s "secrets/$1" ]; then
    cat > /dev/null
    return
  fi
  cat > "secrets/.$1"
  if [ ! -s "secrets/.$1" ]; then
    echo "secrets.sh could not make secrets/$1." >&2
    exit 1
  fi
  mv "secrets/.$1" "secrets/$1"
}

openssl rand -base64 32 | write master_key
openssl rand -hex 32 | write metrics_token
openssl rand -hex 24 | write postgres_password
openssl rand -hex 24 | write redis_password
openssl rand -hex 24 | write grafana_password
printf 'postgres://gateway:%s@postgres:5432/gateway\n' "$(cat secrets/postgres_password)" | write database_url
printf 'redis://:%s@redis:6379\n' "$(cat secrets/redis_password)" | write redis_url
printf 'requirepass %s\nmaxmemory 256mb\nmaxmemory-policy noeviction\nsave ""\nappendonly no\nbind * -::*\n' \
  "$(cat secrets/redis_password)" | write redis.conf
printf 'GARAGE_RPC_SECRET=%s\nGARAGE_DEFAULT_ACCESS_KEY=GK%s\nGARAGE_DEFAULT_SECRET_KEY=%s\n' \
  "$(openssl rand -hex 32)" "$(openssl rand -hex 16)" "$(openssl rand -hex 32)" | write garage.env
(
  . ./secrets/garage.env
  printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
    "$GARAGE_DEFAULT_ACCESS_KEY" "$GARAGE_DEFAULT_SECRET_KEY"
) | write s3_credentials
