// Loaded into a process before its own code (`--import`): at SIGUSR2 its wall clock jumps by the number of seconds that the
// file `TEST_CLOCK_FILE` holds then. Monotonic clocks and timers go on as they are, as when a machine's clock is set.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const RealDate = Date;
let jumpedMs = 0;
const now = () => RealDate.now() + jumpedMs;

process.on('SIGUSR2', () => {
  jumpedMs = Number(readFileSync(process.env['TEST_CLOCK_FILE'] ?? '', 'utf8')) * 1_000;
});
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
