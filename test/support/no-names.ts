// Loaded into a process before its own code (`--import`): every look-up of a host name fails, as without a network. So
// no test calls a real provider, whatever its manifests say. Addresses such as 127.0.0.1 work on.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';

const lookup = dns.lookup;
// A code that no system gives, so that tests can tell that this is at work.
const code = 'ENONAMES';

const refused = (hostname: string, ...rest: unknown[]): void => {
  if (isIP(hostname) !== 0 || hostname === 'localhost') {
    Reflect.apply(lookup, dns, [hostname, ...rest]);
    return;
  }
  const error = Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    syscall: 'getaddrinfo',
    hostname,
  });
  const callback = rest.at(-1);
  if (typeof callback === 'function') process.nextTick(callback as (error: Error) => void, error);
};

Object.assign(dns, { lookup: refused });
syncBuiltinESMExports();
