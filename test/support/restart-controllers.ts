import type { Stage } from './stage.ts';

/** Starts a controller anew whenever one has ended because it lost its lease, as a kubelet does. Answers what stops that. */
export function restartControllers(stage: Stage): () => void {
  let restarted = 0;
  const timer = setInterval(() => {
    const { length } = stage.controllers;
    const hasLost = stage.controllers
      .at(-1)
      ?.log()
      .some(({ msg }) => msg === 'Lost the lease');
    if (hasLost !== true || restarted >= length) return;
    restarted = length;
    stage.start('controller').catch(() => undefined);
  }, 500);
  return () => clearInterval(timer);
}
