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

/** A text for people whose commands, such as `model-gateway node sync NAME`, go where `flags` of this call went. */
export function hintedCommands(text: string, flags: PlaceFlags): string {
  const words = Object.entries(repeated).flatMap(([name, flag]) => {
    const value = flags[name as keyof typeof repeated];
    return value === undefined ? [] : [`${flag} ${shellWord(value)} `];
  });
  // By a function: what stands in a folder's name is no reference to a part of the match.
  return text.replaceAll(/\bmodel-gateway (?=(?:node|model) )/g, (program) => `${program}${words.join('')}`);
}
