// Loaded into a process before its own code (`--import`): its wall clock is wrong by as many seconds as
// TEST_CLOCK_SKEW_SECONDS says. Monotonic clocks and timers go on as they are, as on a machine with a wrong clock.
import process from 'node:process';

const RealDate = Date;
const skewMs = Number(process.env['TEST_CLOCK_SKEW_SECONDS'] ?? 0) * 1_000;
const now = () => RealDate.now() + skewMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
