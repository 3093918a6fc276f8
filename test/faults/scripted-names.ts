// Loaded into a process before its own code (`--import`): host names resolve as a file says (`TEST_NAMES_FILE`), which tests
// change at any time. Names that are not in it do not resolve; addresses and `localhost` work as ever.
import dns from 'node:dns';
import { appendFileSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';

/** Answers for one look-up after the other, the last one for all further: addresses, an error code, or `never`. */
type Answers = readonly (readonly string[] | string)[];

const file = process.env['TEST_NAMES_FILE'] ?? '';
const lookup = dns.lookup;
const counts = new Map<string, number>();

const scripted = (hostname: string, ...rest: unknown[]): void => {
  if (isIP(hostname) !== 0 || hostname === 'localhost') {
    Reflect.apply(lookup, dns, [hostname, ...rest]);
    return;
  }
  const callback = rest.at(-1);
  if (typeof callback !== 'function') return;
  const names = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Answers>;
  const answers = names[hostname] ?? ['ENOTFOUND'];
  const count = counts.get(hostname) ?? 0;
  counts.set(hostname, count + 1);
  const answer = answers[Math.min(count, answers.length - 1)] ?? 'ENOTFOUND';
  appendFileSync(`${file}.asked`, `${hostname} ${JSON.stringify(answer)}\n`);
  if (answer === 'never') return;
  if (typeof answer === 'string') {
    const error = Object.assign(new Error(`getaddrinfo ${answer} ${hostname}`), { code: answer, hostname });
    setImmediate(() => callback(error));
    return;
  }
  const all = answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  setImmediate(() => callback(null, all));
};

Object.assign(dns, { lookup: scripted });
syncBuiltinESMExports();
