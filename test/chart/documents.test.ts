import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examplesOf } from '../../src/cli/help.ts';
import { roleExamples } from '../../src/roles/flags.ts';
import { runShell } from '../support/cli.ts';
import { commandsOf, nodeExamples, wholeProgram } from '../support/cli-examples.ts';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { commandsIn, type DocumentCommand, documentCommands } from '../support/document-commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Helm, startHelm } from '../support/helm.ts';
import { expectProject, parseNpm, parseOurs } from '../support/parsed-command.ts';
import { type Program, startProgram } from '../support/program.ts';
import { runToEnd } from '../support/run-to-end.ts';
import { standInCrds } from '../support/stand-in-crds.ts';

// Every command that a document shows: run on an API server without pods, or at least read by the program it calls, or told
// here why it cannot be. One that fits no rule fails the test.
const root = fileURLToPath(new URL('../..', import.meta.url));
let plane: ControlPlane;
let helm: Helm;
let cwd: string;
const programs: Program[] = [];
/** Of a wait; all of them end within a second on an idle machine. */
const longestMs = 60_000;

beforeAll(async () => {
  [plane, helm] = await Promise.all([startControlPlane(), startHelm()]);
  cwd = await mkdtemp(join(tmpdir(), 'model-gateway-documents-'));
  for (const name of ['crds', 'examples']) await cp(join(root, name), join(cwd, name), { recursive: true });
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await helm?.[Symbol.asyncDispose]();
  await plane?.stop();
  await rm(cwd, { recursive: true, force: true });
});

async function paste(command: string): Promise<string> {
  const env = {
    KUBECONFIG: plane.kubeconfig,
    HOME: plane.folder,
    PATH: `${dirname(plane.kubectlBinary)}:${process.env['PATH']}`,
  };
  const { code, stdout, stderr } = await runShell(command, { env, cwd });
  expect(code, `${command}\n${stderr}`).toBe(0);
  return stdout;
}

async function kindsAreListed(): Promise<void> {
  await eventually(
    'kubectl knows our kinds',
    async () => {
      const { stdout } = await clusterAt(plane).kubectl([
        'api-resources',
        '--api-group=modelgateway.dev',
        '-o=name',
      ]);
      return stdout.trim().split('\n').length === 4;
    },
    longestMs,
  );
}

/** Where a role of the README's cluster listens; it was started for the command before, and may take its time. */
async function address(role: number, message: string): Promise<string> {
  const program = programs[role];
  await program?.until(message, () => program.listens(message) !== undefined);
  const found = program?.listens(message);
  if (found === undefined) throw new Error(`no role listens: ${message}`);
  return found;
}

interface Rule {
  readonly fits: RegExp;
  /** @throws when the command would not do what the document says */
  readonly holds: (command: string, isMention: boolean) => Promise<unknown> | unknown;
}

const firstToken = /## From nothing to a first token\n\n```sh\n([\s\S]+?)\n```/
  .exec(readFileSync(`${root}/charts/model-gateway/README.md`, 'utf8'))?.[1]
  ?.split('\n');
const isFirstToken = (command: string) => firstToken?.includes(command) === true;

/** Run, each in the order of its document. */
const run: readonly Rule[] = [
  {
    // The cluster of the README, without Helm; where it listens is left to the machine.
    fits: /^npm start -- (?:controller|gateway) .*&$/,
    async holds(command) {
      const args = command
        .replace(/^npm start -- (.*) &$/, '$1')
        .replaceAll(/-listen 127\.0\.0\.1:\d+/g, '-listen 127.0.0.1:0');
      const env = { KUBECONFIG: plane.kubeconfig };
      const program = startProgram({ args: args.split(' '), env, cwd, names: false });
      programs.push(program);
      await program.until('it listens', () => program.listens('Serving probes and metrics') !== undefined);
    },
  },
  {
    fits: /^curl http:\/\/127\.0\.0\.1:8080\/v1\/models /,
    async holds(command) {
      await eventually(
        'the key of the example is issued',
        async () => {
          const { code } = await clusterAt(plane).kubectl(['get', 'secret', 'caller-key', '-n', 'default']);
          return code === 0;
        },
        longestMs,
      );
      const here = command.replace('127.0.0.1:8080', await address(1, 'Serving'));
      const isList = async () => (await paste(`${here} -s`)).startsWith('{"object":"list"');
      await eventually('the models are listed', isList, longestMs);
    },
  },
  {
    fits: /^curl '?:9090\/readyz(?:\?verbose')?$/,
    async holds(command) {
      const listens = await address(0, 'Serving probes and metrics');
      await paste(command.replace(/('?):9090/, `-fsS $1${listens}`));
    },
  },
  {
    // Needs pods' logs, which a kubelet has: there are none, so nothing is left for grep.
    fits: /^kubectl logs .* \| grep '"requestId":"req_…"'$/,
    async holds(command) {
      expect(await paste(command.replace(/ \| grep .*/, ''))).toBe('');
    },
  },
  {
    fits: /^kubectl apply --server-side -f install\.yaml$/,
    async holds(command) {
      const made = await runToEnd(process.execPath, [join(root, 'scripts/install-yaml.ts'), '--out', cwd], {
        env: process.env,
        timeoutMs: 60_000,
      });
      expect(made.code, made.stderr).toBe(0);
      // The definitions are the chart's here, and were kubectl's before.
      await paste(`${command} --force-conflicts`);
    },
  },
  {
    // `helm uninstall`, which comes before it, deletes the policy that protects this Secret.
    fits: /^kubectl delete secret,configmap model-gateway-sealing /,
    async holds(command) {
      const policy = 'model-gateway.model-gateway.sealing-secret';
      await paste(`kubectl delete validatingadmissionpolicy,validatingadmissionpolicybinding ${policy}`);
      const isDeleted = () =>
        paste(`${command} --ignore-not-found`).then(
          () => true,
          () => false,
        );
      await eventually('the policy has no effect any more', isDeleted, longestMs);
    },
  },
  {
    fits: /^(?:(?:until )?kubectl (?!modelgateway\b)(?!(?:get|apply|wait)$|get -o|edit\b)|for kind in .*\n *kubectl )/,
    async holds(command) {
      // A server takes a moment to list a kind whose definition it has taken.
      if (command === 'kubectl apply -f examples/openai.yaml') await kindsAreListed();
      await paste(command.replaceAll(/\bNAME\b/g, 'openai'));
    },
  },
  {
    fits: /^model-gateway help |^kustomize build \S+ \| model-gateway check -$/,
    holds: (command) => {
      const manifests = 'cat examples/openai.yaml';
      return paste(
        command.replace(/^kustomize build \S+/, manifests).replace('model-gateway ', '$MODEL_GATEWAY '),
      );
    },
  },
];

/** Read by the program that they call. */
const read: readonly Rule[] = [
  {
    fits: /^(?:\w+=\$\()?(?:npx )?(?:model-gateway|kubectl modelgateway)(?: |$)/,
    holds: (command, isMention) =>
      parseOurs(command.replace(/^.*?(?:model-gateway|kubectl modelgateway) ?/, ''), isMention),
  },
  { fits: /^npm (?:start|test|run \S+)(?: |$)/, holds: parseNpm },
  {
    fits: /^[A-Z_]+=\S+ npm /,
    async holds(command, isMention) {
      const [, name = '', npm = ''] = /^([A-Z_]+)=\S+ (npm .*)/.exec(command) ?? [];
      expect(readFileSync(`${root}/test/support/control-plane/binaries.ts`, 'utf8')).toContain(`'${name}'`);
      await parseNpm(npm, isMention);
    },
  },
  {
    fits: /^vitest run (?:-u )?--project \S+ \S+$/,
    holds: (command) => expectProject(/--project (\S+)/.exec(command)?.[1] ?? ''),
  },
  {
    // No engine here; what the image is asked to run is read, and test:delivery runs it.
    fits: /^docker run .* model-gateway:[\d.]+ \w/,
    holds: (command) => parseOurs(command.replace(/^.* model-gateway:[\d.]+ /, ''), false),
  },
  {
    fits: /^helm (?:--wait|(?:install|upgrade|uninstall|rollback|test)\b)/,
    async holds(command) {
      const [verb = '', ...rest] = command
        .replace(/^helm (--)/, 'helm install $1')
        .split(' ')
        .slice(1);
      const help = await helm.ok([verb, '--help']);
      for (const flag of rest.filter((word) => word.startsWith('--'))) expect(help).toContain(`${flag} `);
    },
  },
  {
    fits: /^kubectl (?:get|get -o yaml|edit|apply|wait)$/,
    holds: (command) => paste(`${command.split(' ').slice(0, 2).join(' ')} --help >/dev/null`),
  },
];

/** Not run here, and why. */
const elsewhere: readonly { readonly fits: RegExp; readonly why: string }[] = [
  {
    fits: /^curl .*127\.0\.0\.1:9090\/debug\//,
    why: 'it needs a process with --admin-debug; unit/observe/debug-endpoints.test.ts asks both',
  },
  {
    fits: /^curl http:\/\/HOST:8080\/v1\/audio\/transcriptions /,
    why: 'it needs a node that hears; wire/endpoints.test.ts sends such forms',
  },
  { fits: /^kubectl (?:port-forward(?: |$)|delete pod NAME$)/, why: 'it needs a pod' },
  {
    fits: /^kubectl wait (?:--for=condition=InForce |apikeys,masterkeys --all -n team-a )/,
    why: 'it needs gateways, or restored keys; cluster/in-force and restore.test.ts have them',
  },
  {
    fits: /^kubectl (?:label (?:apikey|namespace)|scale deployment|delete lease|get secret) .*(?:-n (?:team-a|blue)\b|=enabled$)/,
    why: 'it needs installations; cluster/claims, classes and namespace-selector.test.ts do the same',
  },
  { fits: /^export ANTHROPIC_/, why: 'it starts Claude Code, which test:agents does' },
  { fits: /^export MODEL_GATEWAY_KEY=/, why: 'test:agents runs agents with it' },
  { fits: /^git clone https:\S+ && cd model-gateway$/, why: 'the tests run in a checkout' },
  {
    fits: /^cosign verify ghcr\.io\/\S+:VERSION /,
    why: 'the signature is in a public log, once there is a release',
  },
  { fits: /^git tag -s vVERSION && git push origin vVERSION$/, why: 'it makes a release' },
  {
    fits: /^npm (?:pack|install --global model-gateway)$/,
    why: 'test:delivery packs, and installs the package',
  },
  {
    fits: /^npm (?:ci|install|audit)(?: |$)/,
    why: 'they ask the registry, and change what all tests run on',
  },
];

function ruleFor({ command }: Pick<DocumentCommand, 'command'>): Rule | undefined {
  if (isFirstToken(command)) return { fits: /^/, holds: () => expect(firstToken).toHaveLength(6) };
  const told = elsewhere.find(({ fits }) => fits.test(command));
  if (told !== undefined) return { fits: told.fits, holds: () => undefined };
  return [...run, ...read].find(({ fits }) => fits.test(command));
}

const commands = documentCommands();

test('every command of every document is run here, read, or told why not', async () => {
  expect(commands.filter((command) => ruleFor(command) === undefined)).toEqual([]);
  expect(commands.length).toBeGreaterThan(80);
  for (const rule of [...run, ...read, ...elsewhere]) {
    expect
      .soft(
        commands.some(({ command }) => rule.fits.test(command)),
        `${rule.fits} fits nothing any more`,
      )
      .toBe(true);
  }

  await standIns();
  const once = new Set<string>();
  const isDestructive = ({ command }: DocumentCommand) => /^kubectl delete\b/.test(command);
  const inOrder = [...commands.filter((each) => !isDestructive(each)), ...commands.filter(isDestructive)];
  for (const each of inOrder) {
    const { document, command, isMention } = each;
    const rule = ruleFor(each);
    if (rule === undefined || once.has(command)) continue;
    once.add(command);
    const failure = await Promise.resolve(rule.holds(command, isMention)).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect.soft({ document, command, failure }).toEqual({ document, command, failure: '' });
  }
});

/** What commands of documents expect of a cluster beside what they make themselves. */
async function standIns(): Promise<void> {
  const cluster = clusterAt(plane);
  const applied = await cluster.apply(
    [
      standInCrds(),
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: model-gateway}\n',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: model-gateway-sealing, namespace: model-gateway}\n',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: model-gateway-sealing, namespace: model-gateway}\n',
    ].join('---\n'),
  );
  expect(applied).toMatchObject({ applied: true });
}

test('commands are found in blocks and in running text, and a new one that nobody knows is missed', () => {
  const text = [
    'Call `helm upgrade\n--wait` or `KEY=$(model-gateway key create ci)`, not `kubectl` or `src/main.ts`.',
    '```sh\nterraform apply \\\n  -auto-approve   # now\n\nfor a in b; do\n  echo $a\ndone\n```',
    '```yaml\nkubectl: get\n```',
  ].join('\n\n');
  const found = commandsIn(text);
  expect(found).toEqual([
    { command: 'terraform apply -auto-approve', isMention: false },
    { command: 'for a in b; do\necho $a\ndone', isMention: false },
    { command: 'helm upgrade --wait', isMention: true },
    { command: 'KEY=$(model-gateway key create ci)', isMention: true },
  ]);
  expect(found.map((each) => ruleFor(each) !== undefined)).toEqual([false, false, true, true]);
});

const wrong: readonly [command: string, message: string][] = [
  ['model-gateway nodes --lots', "unknown option '--lots'"],
  ['model-gateway node tickle openai', "unknown command 'tickle'"],
  ['model-gateway gateway --manifests x', "unknown option '--manifests'"],
  ['npm run tests', 'no script tests'],
  ['npm test -- everything', 'no project everything'],
  ['npm run bench -- --fast', 'takes no --fast'],
  ['npm start -- nodes --lots', "unknown option '--lots'"],
];
test.each(wrong)('%s would be found', async (command, message) => {
  const rule = ruleFor({ command });
  await expect(async () => rule?.holds(command, false)).rejects.toThrow(message);
});

test('every example of --help is run by some test; those of the console here', async () => {
  const all = commandsOf(await wholeProgram()).flatMap(([, command]) => examplesOf(command));
  const byOthers = new Set([...(await nodeExamples()), ...Object.values(roleExamples).flat()]);
  const left = all.filter(
    (example) => !byOthers.has(example) && !/^(?:agent|keys?|masterkeys?|route|check)\b/.test(example),
  );
  expect(left).toEqual(['console', 'console --manifests model-gateway/manifests --no-open']);
  await paste('mkdir -p model-gateway/manifests && cp examples/minimal.yaml model-gateway/manifests/');
  for (const example of left) {
    const env = { KUBECONFIG: plane.kubeconfig };
    await using program = startProgram({ args: example.split(' '), env, cwd });
    const shown = () => /^http\S+$/m.exec(program.stdout())?.[0];
    await program.until('it tells its address', () => shown() !== undefined);
    const answer = await fetch(shown() ?? '');
    expect([example, answer.status, await answer.text()]).toEqual([
      example,
      200,
      expect.stringContaining('<title>Model Gateway'),
    ]);
    await program.stop('SIGINT');
  }
});
