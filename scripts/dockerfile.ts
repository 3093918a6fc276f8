/** One instruction; `args` is the rest of its line, continuation lines joined. */
export interface Instruction {
  readonly name: string;
  readonly args: string;
}

/** From one FROM to the next. */
export interface Stage {
  readonly from: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** Reads a Dockerfile as far as ours goes. Throws for what comes before the first FROM. */
export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: { from: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = '', args = ''] = /^\s*([A-Za-z]+)\s+(.*)$/.exec(line) ?? [];
    if (name.toUpperCase() === 'FROM') {
      const [from = '', , as] = args.split(/\s+/).filter((word) => !word.startsWith('--'));
      stages.push({ from, name: as, instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (stage === undefined) throw new Error(`Dockerfile: ${line}: stands before the first FROM`);
    stage.instructions.push({ name: name.toUpperCase(), args });
  }
  return stages;
}

/** Whether `.dockerignore` lets a path (relative, with `/`) into the build. The last pattern that fits decides. */
export function isInContext(ignore: string, path: string): boolean {
  let included = true;
  for (const line of ignore.split('\n').map((text) => text.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const negated = line.startsWith('!');
    const pattern = line
      .slice(negated ? 1 : 0)
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]*');
    if (new RegExp(`^${pattern}(?:/|$)`).test(path)) included = negated;
  }
  return included;
}
