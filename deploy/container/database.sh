# Starts PostgreSQL for compose.yaml, after it created the role and the database `opsapi` at the first start.
# Programs connect through the socket alone, as the user that they run as: there is no password and no port.
set -eu
PATH="/usr/lib/postgresql/15/bin:$PATH"
data=/var/lib/postgresql/data

if [ ! -d "$data" ]; then
    rm -rf "$data.new"  # of a first start that was interrupted
    initdb --pgdata="$data.new" --encoding=UTF8 --locale=C.UTF-8 --data-checksums --auth-local=peer --auth-host=reject
    printf '%s\n' 'CREATE ROLE opsapi LOGIN' 'CREATE DATABASE opsapi OWNER opsapi' |
        postgres --single -D "$data.new" postgres
    mv "$data.new" "$data"
fi
exec postgres -D "$data" -c listen_addresses= -c unix_socket_directories=/run/postgresql
