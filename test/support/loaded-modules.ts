import { registerHooks } from 'node:module';
import process from 'node:process';

// Preloaded into a process: prints the packages that it loads, each once.
const seen = new Set<string>();
registerHooks({
  load(url, context, next) {
    const name = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      process.stderr.write(`loaded: ${name}\n`);
    }
    return next(url, context);
  },
});
