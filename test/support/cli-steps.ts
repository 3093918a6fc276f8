import { expect } from 'vitest';
import { lines } from './cli.ts';
import { runHere } from './cli-here.ts';

/** One command as people type it, and what comes of it. */
export interface CliStep {
  /** Behind the program's name; quotes as in a shell. */
  readonly run: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default 0. */
  readonly code?: number;
  /** Every line of stdout, or what the whole must match; default: not looked at. */
  readonly out?: readonly string[] | RegExp;
  /** The same of stderr; default: empty when the code is 0, else not looked at. */
  readonly err?: readonly string[] | RegExp;
}

/** Runs the steps one after the other and compares them all. In this process: another one for each would take a minute. */
export async function expectSteps(
  steps: readonly CliStep[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  for (const { run, input = '', env: own, code = 0, out, err } of steps) {
    const result = await runHere(words(run), { input, env: { ...env, ...own } });
    const failed = result.code === code ? '' : result.stderr;
    expect.soft({ run, code: result.code, failed }).toEqual({ run, code, failed: '' });
    if (out !== undefined) expectText(`${run}: stdout`, result.stdout, out);
    if (err !== undefined) expectText(`${run}: stderr`, result.stderr, err);
    else if (code === 0) expectText(`${run}: stderr`, result.stderr, []);
  }
}

/** Splits a command as a shell does, as far as steps and examples need it: words, some of them in quotes. */
export function words(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, one, other, bare]) => one ?? other ?? bare ?? '',
  );
}

function expectText(what: string, text: string, wanted: readonly string[] | RegExp): void {
  if (wanted instanceof RegExp) expect.soft(text, what).toMatch(wanted);
  else expect.soft(lines(text), what).toEqual(wanted);
}

const openai = 'upstreamnode.modelgateway.dev/openai';
const local = 'upstreamnode.modelgateway.dev/local';

/** What every place can do: the life of two nodes. A sealing recipient must be there. */
export const nodeSteps: readonly CliStep[] = [
  { run: 'nodes', out: [], err: /^No nodes found in namespace .+\.\n$/ },
  { run: 'nodes -o name', out: [] },
  {
    run: 'nodes -o json',
    out: /^\{\s+"apiVersion": "v1",\s+"kind": "List",\s+"items": \[\],\s+"metadata": \{\}\s+\}\n$/,
  },
  { run: 'models', out: [], err: /^No models found / },
  // add
  { run: 'node add openai', code: 2, err: /--base-url is missing/ },
  {
    run: 'node add openai --base-url ftp://x',
    code: 6,
    err: /spec\.baseURL: "ftp:\/\/x" must be an http or https URL/,
  },
  {
    run: 'node add openai --base-url https://x --priority 101',
    code: 6,
    err: /spec\.priority: 101 must be at most 100/,
  },
  {
    run: 'node add openai --base-url https://x --priority ten',
    code: 2,
    err: /Give a whole number\. See model-gateway node add --help/,
  },
  {
    run: 'node add openai --base-url https://x --authentication Basic',
    code: 2,
    err: /Allowed choices are Bearer, XAPIKey, APIKey/,
  },
  {
    run: 'node add openai --base-url https://x --api-key sk-in-the-history',
    code: 2,
    err: /^(?!.*sk-in-the-history).*--api-key takes no key: an argument stays in the shell history/s,
  },
  {
    run: 'node add openai --base-url https://x --api-key-stdin --models-file -',
    code: 2,
    err: /both read stdin/,
  },
  {
    run: 'node add openai --base-url https://x --api-key-stdin --api-key-secret s',
    code: 2,
    err: /exclude each other/,
  },
  {
    run: 'node add openai --base-url https://x --api-key-secret a/b/c',
    code: 2,
    err: /is not NAME or NAME\/ENTRY/,
  },
  {
    run: 'node add openai --base-url https://x --api-key-stdin',
    input: '',
    code: 2,
    err: /stdin held no API key/,
  },
  {
    run: 'node add openai --base-url https://x --models-file nowhere.txt',
    code: 2,
    err: /nowhere\.txt cannot be read \(ENOENT\)/,
  },
  { run: 'node add Open_AI --base-url https://x', code: 6, err: /metadata\.name/ },
  {
    run: 'node add openai --base-url https://api.openai.com/v1 --display-name "The big one" --native-format responses,completions --models-file - --priority 60',
    input: 'gpt-5, gpt-5-mini\n# not this\n\ntext-embedding-3\n',
    out: [`${openai} created`],
    err: /^It has no API key; give it one with: model-gateway node edit openai --api-key-prompt\n$/,
  },
  { run: 'node add openai --base-url https://api.openai.com/v1', code: 5, err: /already/ },
  {
    run: 'node add local --base-url http://ollama.example:11434/v1 --model qwen3:4b --model gpt-5 --dry-run',
    out: /^apiVersion: modelgateway\.dev\/v1alpha1\nkind: UpstreamNode\n/,
  },
  { run: 'nodes -o name', out: [openai] },
  {
    run: 'node add local --base-url http://ollama.example:11434/v1 --model qwen3:4b --model gpt-5 --callers team-a,team-b --api-key-stdin',
    input: 'sk-local-1\n',
    out: [`${local} created`],
  },
  // show
  {
    run: 'nodes',
    out: /^NAME {5}URL {30}STATUS.*\nlocal {4}http:\/\/ollama\.example:11434\/v1 .*\nopenai {3}https:\/\/api\.openai\.com\/v1 .*\n$/,
  },
  {
    run: 'nodes -o wide',
    out: /ENABLED {3}PRIORITY {3}WEIGHT {3}DISPLAY NAME .*\n.*\n.* true {6}60 {9}50 {7}The big one/,
  },
  { run: 'nodes -o yaml', out: /^apiVersion: v1\nkind: List\nitems:\n(.*\n)* +encryptedAPIKey: \|\n/ },
  { run: 'nodes -A', out: /^NAMESPACE +NAME +URL/ },
  {
    run: 'node show openai',
    out: /^Name: +openai\n(.*\n)*Display name: +The big one\n(.*\n)*URL: +https:\/\/api\.openai\.com\/v1\nAPI key: +none\n(.*\n)*Native formats: +Responses, Completions\n(.*\n)*Models: 3\n {2}NAME +STATE +SOURCE +ALIASES\n {2}gpt-5 +enabled +manual +-\n/,
  },
  {
    run: 'node show node/local',
    out: /^Name: +local\n(.*\n)*API key: +set, sealed to the gateway.*\n(.*\n)*Callers from: +its own namespace and team-a, team-b\n/,
  },
  { run: 'node show local -o json', out: /^(?!.*sk-local)/s },
  { run: 'node show openai -o json', out: /^\{\n {4}"apiVersion": "modelgateway.dev\/v1alpha1",\n/ },
  { run: 'node show nobody', code: 3, err: /^model-gateway: There is no UpstreamNode .*nobody.*\n$/ },
  // edit by flags
  { run: 'node edit openai', code: 2, err: /nothing to change: give flags/ },
  {
    run: 'node edit openai --weight 7 --model gpt-5,gpt-5-mini --dry-run',
    out: /\n\+ {2}weight: 7\n/,
    err: [`${openai} would be edited (dry run)`],
  },
  { run: 'node edit openai --weight 7 --model gpt-5,gpt-5-mini', out: [`${openai} edited`] },
  { run: 'node edit openai --weight 7', out: [`${openai} unchanged`] },
  { run: 'node edit openai --display-name ""', out: [`${openai} edited`] },
  { run: 'node show openai', out: /^(?!.*Display name)(.*\n)*Weight: +7 (.*\n)*Models: 2\n/s },
  // keys: an empty one keeps, removing is explicit, another origin needs the key again
  {
    run: 'node edit local --api-key-stdin',
    input: '\n',
    out: [],
    err: ['The key is empty, so the current one stays; nothing was changed.'],
  },
  { run: 'node show local', out: /set, sealed/ },
  { run: 'node edit local --base-url http://ollama.example:11434/v2', out: [`${local} edited`] },
  {
    run: 'node edit local --base-url http://elsewhere.example/v1',
    code: 2,
    err: /sealed for http:\/\/ollama\.example:11434 and does not open for http:\/\/elsewhere\.example/,
  },
  {
    run: 'node edit local --base-url http://elsewhere.example/v1 --api-key-stdin',
    input: 'sk-2',
    out: [`${local} edited`],
  },
  {
    run: 'node edit local --api-key-stdin',
    input: 'with blanks',
    code: 6,
    err: /^(?!.*with blanks).*visible ASCII/s,
  },
  { run: 'node edit local --api-key-secret keys/ollama', out: [`${local} edited`] },
  { run: 'node show local', out: /set, from the Secret keys, entry ollama/ },
  { run: 'node edit local --clear-api-key', out: [`${local} edited`] },
  { run: 'node show local', out: /none/ },
  { run: 'node edit local --api-key-prompt', code: 2, err: /there is no terminal to type a key on/ },
  // edit in an editor
  { run: 'node edit openai', env: { EDITOR: 'true' }, out: [], err: ['Edit cancelled, no changes made.'] },
  {
    run: 'node edit openai',
    env: { EDITOR: 'truncate -s 0' },
    out: [],
    err: ['Edit cancelled, the file was empty.'],
  },
  {
    run: 'node edit openai',
    env: { EDITOR: 'false' },
    code: 1,
    err: /the editor false ended with 1; nothing was changed/,
  },
  {
    run: 'node edit openai',
    env: { VISUAL: "sed -i 's/weight: 7$/weight: 8/'", EDITOR: 'false' },
    out: [`${openai} edited`],
  },
  {
    run: 'node edit openai --dry-run',
    env: { KUBE_EDITOR: "sed -i 's/weight: 8$/weight: 9/'" },
    out: /\n-( *)weight: 8\n\+\1weight: 9\n/,
    err: [`${openai} would be edited (dry run)`],
  },
  {
    run: 'node edit openai',
    env: { EDITOR: "sed -i 's/weight: 8$/weight: 800/'" },
    code: 6,
    err: /spec\.weight: 800 must be at most 100; lower it\.?\nWhat you wrote is kept in .*openai\.yaml\.\n$/,
  },
  { run: 'node edit openai', env: { EDITOR: "sed -i 's/name: openai$/name: other/'" }, code: 6 },
  // models
  {
    run: 'models',
    out: /^MODEL +STATE +NODES +ALIAS OF\ngpt-5 +served +openai, local +-\ngpt-5-mini +served +openai +-\nqwen3:4b +served +local +-\n$/,
  },
  { run: 'models -o name', out: ['gpt-5', 'gpt-5-mini', 'qwen3:4b'] },
  { run: 'model disable openai', code: 2, err: /name the models to disable, or give --all/ },
  { run: "model disable openai 'gpt-*'", out: ['gpt-5 disabled', 'gpt-5-mini disabled'] },
  {
    run: 'model enable openai gpt-5 gtp-5-mini nothing-like-it',
    code: 3,
    out: ['gpt-5 enabled'],
    err: /did you mean "gpt-5-mini"\?\n.*has no model "nothing-like-it"\n$/,
  },
  {
    run: 'model enable openai --all --dry-run',
    out: ['gpt-5-mini would be enabled (dry run)'],
    err: ['1 model was enabled already.'],
  },
  { run: 'models -o wide', out: /\ngpt-5-mini +not served +- +- +- +- +openai \(model disabled\)\n/ },
  {
    run: 'model show gpt-5',
    out: /^Name: +gpt-5\nOther names: +-\n\nTURN .*\n1 +openai +serves +unknown +60 +8 +100 % +-\n2 +local .*\n$/,
  },
  { run: 'model show gpt5', code: 3, err: /no node knows a model "gpt5" .*; did you mean "gpt-5"\?/ },
  {
    run: 'model edit openai gpt-5 --context-tokens 400000 --dry-run',
    out: /contextTokens: 400000/,
    err: [`${openai} would be edited (dry run)`],
  },
  { run: 'model show gpt-5 -o json', out: /"turn": 1,(.*\n)*.*"turn": 2,/ },
  // switches, several at once
  {
    run: 'node disable openai nobody local',
    code: 3,
    out: [`${openai} disabled`, `${local} disabled`],
    err: /^model-gateway: nobody: There is no UpstreamNode .*\n$/,
  },
  { run: 'node disable openai', out: [`${openai} was disabled already`] },
  { run: 'models', out: /\ngpt-5 +not served +- +-\n/ },
  {
    run: 'node enable openai local --dry-run',
    out: [`${openai} would be enabled (dry run)`, `${local} would be enabled (dry run)`],
  },
  { run: 'nodes', out: /disabled.*\n.*disabled/ },
  { run: 'node enable openai local', out: [`${openai} enabled`, `${local} enabled`] },
  // sync asks
  { run: 'node sync openai --no-wait', out: [`${openai} asked to sync`] },
  { run: 'node show openai -o yaml', out: /modelgateway.dev\/sync-requested-at: / },
  // completion
  {
    run: '__complete -- node show ""',
    out: ['local\thttp://elsewhere.example/v1', 'openai\thttps://api.openai.com/v1', ':4'],
  },
  { run: '__complete -- node disable local o', out: ['openai\thttps://api.openai.com/v1', ':4'] },
  { run: '__complete -- model enable openai gpt-5 g', out: ['gpt-5\tenabled', 'gpt-5-mini\tdisabled', ':4'] },
  { run: '__complete -- model show q', out: ['qwen3:4b', ':4'] },
  // delete asks
  {
    run: 'node delete local',
    code: 2,
    err: /Delete the node local .*\? There is no terminal to answer on: add --yes to do it\./,
  },
  {
    run: 'node delete local openai --dry-run',
    out: [`${local} would be deleted (dry run)`, `${openai} would be deleted (dry run)`],
  },
  { run: 'node delete local nobody -y', code: 3, out: [`${local} deleted`] },
  { run: 'nodes -o name', out: [openai] },
  { run: 'version --client', out: /^client: +\d+\.\d+\.\d+\n$/ },
];
