import type { PlaceFlags } from './place.ts';
import { shellWord } from './started-as.ts';

const repeated = {
  manifests: '--manifests',
  data: '--data',
  kubeconfig: '--kubeconfig',
  context: '--context',
  as: '--as',
  namespace: '-n',
} as const satisfies Partial<Record<keyof PlaceFlags, string>>;

/** Adds the flags of this call to commands in a text, such as `model-gateway node sync NAME`, so that they use the same place. */
export function hintedCommands(text: string, flags: PlaceFlags): string {
  const words = Object.entries(repeated).flatMap(([name, flag]) => {
    const value = flags[name as keyof typeof repeated];
    return value === undefined ? [] : [`${flag} ${shellWord(value)} `];
  });
  // A function, because a folder's name may contain `$&`, which a text as replacement would interpret.
  return text.replaceAll(/\bmodel-gateway (?=(?:node|model) )/g, (program) => `${program}${words.join('')}`);
}
