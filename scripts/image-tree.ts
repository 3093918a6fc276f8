// Assembles the files of the image without Docker: `node scripts/image-tree.ts FOLDER`. Runs the steps of the Dockerfile
// itself, each stage in a folder of its own; what the base images hold is not in it.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Instruction, isInContext, parseDockerfile } from './dockerfile.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What the image runs and as whom, beside its files. */
export interface ImageTree {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly user: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

interface BuildState {
  readonly folder: string;
  workdir: string;
  readonly env: Record<string, string>;
  entrypoint: string[];
  cmd: string[];
  user: string;
}

/**
 * Runs every stage; the last one is `folder` afterwards, which must not exist. With `developmentModules` that folder of
 * modules stands in for what the build stage would install, which takes minutes and reaches no image.
 * Throws with the step that failed.
 */
export function assembleImageTree(folder: string, developmentModules?: string): ImageTree {
  const ignore = readFileSync(join(root, '.dockerignore'), 'utf8');
  const scratch = mkdtempSync(join(tmpdir(), 'model-gateway-image-'));
  const built = new Map<string, BuildState>();
  try {
    const stages = parseDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));
    for (const [index, stage] of stages.entries()) {
      const isLast = index === stages.length - 1;
      const state = begin(isLast ? folder : join(scratch, String(index)), built.get(stage.from));
      for (const instruction of stage.instructions)
        perform(instruction, state, built, ignore, developmentModules);
      if (stage.name !== undefined) built.set(stage.name, state);
      if (isLast) return state;
    }
    throw new Error('Dockerfile: there is no FROM in it');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function begin(folder: string, base: BuildState | undefined): BuildState {
  mkdirSync(folder, { recursive: true });
  if (base !== undefined) cpSync(base.folder, folder, { recursive: true, verbatimSymlinks: true });
  return {
    folder,
    workdir: base?.workdir ?? '/',
    env: { ...base?.env },
    entrypoint: [],
    cmd: [],
    user: base?.user ?? 'root',
  };
}

function perform(
  { name, args }: Instruction,
  state: BuildState,
  built: ReadonlyMap<string, BuildState>,
  ignore: string,
  developmentModules: string | undefined,
): void {
  switch (name) {
    case 'WORKDIR':
      state.workdir = args;
      mkdirSync(join(state.folder, args), { recursive: true });
      return;
    case 'ENV': {
      const [key = '', value = ''] = args.split(/=(.*)/s);
      state.env[key] = /^"(.*)"$/s.exec(value)?.[1] ?? value;
      return;
    }
    case 'USER':
      state.user = args;
      return;
    case 'ENTRYPOINT':
      state.entrypoint = JSON.parse(args);
      return;
    case 'CMD':
      state.cmd = JSON.parse(args);
      return;
    case 'ARG':
    case 'LABEL':
    case 'EXPOSE':
      return;
    case 'COPY':
      copy(args, state, built, ignore);
      return;
    case 'RUN':
      run(args, state, developmentModules);
      return;
    default:
      throw new Error(`Dockerfile: ${name} ${args}: scripts/image-tree.ts does not know this step; teach it`);
  }
}

function copy(args: string, state: BuildState, built: ReadonlyMap<string, BuildState>, ignore: string): void {
  const words = args.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const target = words.pop() ?? '';
  const intoFolder = target.endsWith('/') || words.length > 1;
  for (const word of words) {
    const base = from === undefined ? root : built.get(from)?.folder;
    if (base === undefined) throw new Error(`Dockerfile: COPY ${args}: there is no stage ${from}`);
    const source = join(base, word);
    if (!existsSync(source)) throw new Error(`Dockerfile: COPY ${args}: there is no ${word}`);
    const destination = resolve('/', state.workdir, target);
    // Of a folder the content is copied, of a file the file.
    const into = intoFolder && statSync(source).isFile() ? join(destination, basename(word)) : destination;
    mkdirSync(dirname(join(state.folder, into)), { recursive: true });
    cpSync(source, join(state.folder, into), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) =>
        from !== undefined ||
        path === source ||
        isInContext(ignore, relative(root, path).replaceAll('\\', '/')),
    });
    if (from === undefined && !isInContext(ignore, word)) {
      throw new Error(`Dockerfile: COPY ${args}: .dockerignore leaves ${word} out`);
    }
  }
}

function run(command: string, state: BuildState, developmentModules: string | undefined): void {
  if (developmentModules !== undefined && command.startsWith('npm ci --include=dev')) {
    const modules = join(state.folder, state.workdir, 'node_modules');
    rmSync(modules, { recursive: true, force: true });
    symlinkSync(developmentModules, modules);
    return;
  }
  const { status, signal, stdout, stderr } = spawnSync('sh', ['-ec', command], {
    cwd: join(state.folder, state.workdir),
    env: {
      ...state.env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
      HOME: process.env['HOME'],
      // What the lock file names by its digest need not be fetched again.
      npm_config_prefer_offline: 'true',
    },
    encoding: 'utf8',
    timeout: 10 * 60_000,
  });
  if (status === 0) return;
  const tail = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new Error(`Dockerfile: RUN ${command} ended with ${status ?? signal}:\n${tail}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = process.argv[2];
  if (folder === undefined || existsSync(folder)) {
    console.error('image-tree: give it a folder that does not exist yet: node scripts/image-tree.ts FOLDER');
    process.exit(2);
  }
  const { entrypoint, user } = assembleImageTree(resolve(folder));
  console.log(`Assembled ${folder}; the image runs ${entrypoint.join(' ')} as ${user}`);
}
