#!/bin/sh
# Makes the certificates beside this file anew: two authorities, each with a server certificate for localhost,
# and a client certificate of the first. Needs the openssl command; valid for 100 years. For tests alone.
set -eu
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
authority() {
  key "$1.key"
  openssl req -x509 -new -key "$1.key" -subj "/CN=Model Gateway test authority $1" -days 36500 \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' -out "$1.crt"
}
signed() { # name, authority, subject, extensions
  key "$1.key"
  openssl req -new -key "$1.key" -subj "$3" -out "$1.csr"
  printf '%s\n' "$4" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 36500 -extfile "$1.ext" -out "$1.crt"
  rm "$1.csr" "$1.ext"
}
for n in 1 2; do
  authority "ca$n"
  signed "server$n" "ca$n" '/CN=localhost' 'subjectAltName=DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth'
done
signed client1 ca1 '/O=testers/CN=tester' 'extendedKeyUsage=clientAuth'
rm -f ca1.key ca2.key ./*.srl
