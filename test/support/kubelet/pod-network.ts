// Loaded into a pod's process before its own code (`--import`), in place of a network namespace and the cluster's DNS:
// a server that listens on every interface listens on the pod's own loopback address alone, so that the port 8080 of
// several pods does not collide, and the names of Services resolve. Addresses that are given as such stay as they are.
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import process from 'node:process';
import { environmentPrefix } from './pod-network-environment.ts';

const podIP = take('IP');
const namesFile = take('NAMES');
const namespace = take('NAMESPACE');

/** Its own environment must be the rendered one and nothing else. */
function take(name: string): string {
  const value = process.env[environmentPrefix + name] ?? '';
  delete process.env[environmentPrefix + name];
  return value;
}

const everywhere = new Set([undefined, '', '::', '0.0.0.0']);
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (this: net.Server, ...given: unknown[]): net.Server {
  const [first, second, ...rest] = given;
  if (typeof first === 'object' && first !== null && 'port' in first) {
    const options = first as { host?: string };
    const host = everywhere.has(options.host) ? podIP : options.host;
    return Reflect.apply(listen, this, [{ ...options, host }, second, ...rest]) as net.Server;
  }
  if (typeof first === 'number') {
    if (typeof second !== 'string')
      return Reflect.apply(listen, this, [first, podIP, second, ...rest]) as net.Server;
    return Reflect.apply(listen, this, [
      first,
      everywhere.has(second) ? podIP : second,
      ...rest,
    ]) as net.Server;
  }
  return Reflect.apply(listen, this, given) as net.Server;
};

const lookup = dns.lookup;
const withServices = (hostname: string, ...rest: unknown[]): void => {
  // Read each time: Services come and go.
  const names = JSON.parse(readFileSync(namesFile, 'utf8')) as Record<string, string>;
  const bare = hostname.replace(/\.$/, '').replace(/\.svc(\.cluster\.local)?$/, '');
  const address = names[bare] ?? names[`${bare}.${namespace}`] ?? hostname;
  Reflect.apply(lookup, dns, [address, ...rest]);
};
Object.assign(dns, { lookup: withServices });
syncBuiltinESMExports();
