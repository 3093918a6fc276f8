import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseDocument } from 'yaml';
import { sealApiKey } from '../resources/sealed-key.ts';
import { makeFolder } from '../store/folder/make-folder.ts';
import { isDemoOf, startDemoUpstream } from './demo-upstream.ts';
import { scalarText } from './edit/changed-document.ts';
import { quickStartKey, quickStartKeyFile, type ShownKey } from './quick-start-key.ts';
import { folderCommand, program, shellWord, startCommand } from './started-as.ts';

const openAIURL = 'https://api.openai.com/v1';

/** What the quick start found or made in its folder. */
export interface QuickStart {
  /** The node that the first request goes to; undefined if people declared other nodes. */
  readonly node: { readonly name: string; readonly kind: 'demo' | 'server' | 'openai' } | undefined;
  /** Declares OpenAI, once there is a recipient to seal its key to. Undefined if it is not to be declared. */
  readonly declareOpenAI: ((recipient: string) => Promise<void>) | undefined;
  /** What people should know, a line each. */
  readonly notices: readonly string[];
  close(): Promise<void>;
}

/**
 * Makes the folder of manifests on the first run, and starts the demo upstream if the folder declares it. On later runs
 * it changes nothing but the demo's port, if another program uses that.
 * Throws system errors such as EACCES with the path in them.
 */
export async function prepareQuickStart(options: {
  manifests: string;
  upstream: string | undefined;
  openAIKey: string | undefined;
}): Promise<QuickStart> {
  const { manifests, upstream, openAIKey } = options;
  const file = (name: string): string => join(manifests, name);
  await makeFolder(manifests);
  const found = await readdir(manifests);
  const first = found.length === 0;
  if (first) {
    await writeWhole(file(quickStartKeyFile), apiKeyManifest);
    await writeWhole(file('provider.yaml.example'), providerExample);
  }
  // A start that ended early may have written only the key.
  const hasNodes = found.some((name) => /\.(?:ya?ml|json)$/.test(name) && name !== quickStartKeyFile);
  const notices: string[] = [];
  const node = await declareNode();
  // A declared demo must answer, even if another node comes first.
  const demo =
    node?.kind === 'demo' || existsSync(file('demo.yaml'))
      ? await startDeclaredDemo(file('demo.yaml'), notices)
      : undefined;
  return {
    node,
    declareOpenAI:
      node?.kind === 'openai' && openAIKey !== undefined && !existsSync(file('openai.yaml'))
        ? async (recipient) => {
            await writeWhole(file('openai.yaml'), await openAIManifest(openAIKey, recipient), 0o600);
          }
        : undefined,
    notices,
    close: async () => demo?.close(),
  };

  async function declareNode(): Promise<QuickStart['node']> {
    if (upstream !== undefined) {
      const path = file('upstream.yaml');
      if (existsSync(path)) {
        const declared = parseDocument(await readFile(path, 'utf8')).getIn(['spec', 'baseURL']);
        if (declared !== upstream)
          notices.push(
            `--upstream is not used: ${path} already declares ${scalarText(declared)}; edit it there.`,
          );
      } else {
        await writeWhole(path, serverManifest(upstream));
      }
      return { name: 'upstream', kind: 'server' };
    }
    if (openAIKey !== undefined && !existsSync(file('openai.yaml'))) {
      if (!hasNodes) return { name: 'openai', kind: 'openai' };
      notices.push(
        `OPENAI_API_KEY is not used: ${manifests} has nodes already. To add OpenAI, follow provider.yaml.example there.`,
      );
    }
    for (const [name, kind] of [
      ['openai', 'openai'],
      ['upstream', 'server'],
    ] as const) {
      if (existsSync(file(`${name}.yaml`))) return { name, kind };
    }
    return first || existsSync(file('demo.yaml')) ? { name: 'demo', kind: 'demo' } : undefined;
  }
}

/** Writes a file at once, because the next start would take half a manifest of a killed start for a declared one. */
async function writeWhole(path: string, text: string, mode = 0o666): Promise<void> {
  await writeFile(`${path}.new`, text, { mode });
  await rename(`${path}.new`, path);
}

/**
 * Starts the demo on the port of its manifest. If another program uses that port, it takes another one and writes it into
 * the manifest, unless that program is the demo of these manifests in another process, which would lose its node.
 */
async function startDeclaredDemo(
  path: string,
  notices: string[],
): Promise<{ port: number; close(): Promise<void> }> {
  const folder = await realpath(dirname(path));
  if (!existsSync(path)) {
    const demo = await startDemoUpstream(0, folder);
    await writeWhole(path, demoManifest(demo.port));
    return demo;
  }
  const text = await readFile(path, 'utf8');
  const document = parseDocument(text);
  const isYaml = document.errors.length === 0;
  // If the file is not YAML, its last good version is in force, and the port is most likely still in the text.
  const found = isYaml ? document.getIn(['spec', 'baseURL']) : /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
  const declared = typeof found === 'string' ? URL.parse(found) : null;
  if (declared?.hostname !== '127.0.0.1') {
    const why = found === undefined ? 'names no base URL that can be read' : 'points elsewhere';
    notices.push(`The demo upstream was not started: ${path} ${why}.`);
    return notStarted;
  }
  const port = Number(declared.port);
  try {
    return await startDemoUpstream(port, folder);
  } catch {
    if (await isDemoOf(folder, port)) {
      notices.push(
        `Another process serves ${folder} and runs the demo upstream on port ${port}; the node demo ends with that process. For a folder of its own: --manifests DIR --data DIR.`,
      );
      return notStarted;
    }
    if (!isYaml) {
      notices.push(`The demo upstream was not started: port ${port} is taken, and ${path} is not valid.`);
      return notStarted;
    }
    const demo = await startDemoUpstream(0, folder);
    document.setIn(['spec', 'baseURL'], `http://127.0.0.1:${demo.port}/v1`);
    await writeWhole(path, document.toString());
    notices.push(`Port ${port} is taken; the demo upstream listens on ${demo.port} and ${path} says so.`);
    return demo;
  }
}

const notStarted = { port: 0, close: async () => {} };

/** What the quick start prints once everything runs, with one command to paste. */
export function welcome(facts: {
  version: string;
  baseURL: string;
  key: ShownKey | undefined;
  manifests: string;
  data: string;
  console: string | undefined;
  node: QuickStart['node'];
  /** Whether the node's manifest is in force: as it is now, in its last good version, or not at all. */
  inForce: 'Now' | 'Before' | 'Never';
  model: string | undefined;
  notices: readonly string[];
}): string {
  const { version, baseURL, key, manifests, data, console, node, inForce, model } = facts;
  const text = key !== undefined && 'text' in key ? key.text : undefined;
  const command = (words: string) => folderCommand(words, { manifests, data });
  const rows = [
    ['Base URL', baseURL],
    [
      'API key',
      text ?? (key !== undefined && 'reason' in key ? `none: ${key.reason}` : 'not issued yet; see the log'),
    ],
    ['Manifests', `${manifests} (edit and save: changes apply at once)`],
    ['Commands', command('nodes')],
    ...(console === undefined
      ? []
      : [
          [
            'Console',
            `${console} (good for one browser; the next: cat ${shellWord(join(data, 'console-address'))})`,
          ],
        ]),
    ...(node === undefined ? [] : [['Node', nodeText(node, inForce)]]),
    ['Add one', `${join(manifests, 'provider.yaml.example')} says how to add a real provider`],
  ];
  const body = JSON.stringify({
    model: model ?? 'MODEL',
    stream: true,
    messages: [{ role: 'user', content: 'Say hello.' }],
  });
  const notices = [...keyNotices(key, command), ...facts.notices];
  return [
    '',
    `Model Gateway ${version} runs.`,
    '',
    ...rows.map(([name = '', value]) => `  ${name.padEnd(10)} ${value}`),
    '',
    ...(model === undefined
      ? [`No model is known yet: ${whyNoModel(node, inForce)}; then ask for it like this:`]
      : ['Paste this for a streamed answer:']),
    '',
    `curl -N ${baseURL}/chat/completions -H 'Authorization: Bearer ${text ?? 'KEY'}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    ...notices.map((notice) => `Note: ${notice}`),
    `Ctrl-C stops it. Another \`${startCommand}\` keeps everything.`,
    '',
    '',
  ].join('\n');
}

const kinds = {
  demo: 'a demo upstream: it echoes, there is no model in it',
  server: 'your server',
  openai: 'OpenAI',
} as const;

type Node = NonNullable<QuickStart['node']>;

function nodeText({ name, kind }: Node, inForce: 'Now' | 'Before' | 'Never'): string {
  if (inForce === 'Never') return `none: ${name}.yaml is not valid`;
  const before =
    inForce === 'Before' ? `; ${name}.yaml is not valid now, its last good version is in force` : '';
  return `${name}, ${kinds[kind]}${before}`;
}

function whyNoModel(node: Node | undefined, inForce: 'Now' | 'Before' | 'Never'): string {
  if (node === undefined) return 'declare a node';
  return inForce === 'Never' ? `correct ${node.name}.yaml` : `node ${node.name} has not answered`;
}

function keyNotices(key: ShownKey | undefined, command: (words: string) => string): string[] {
  if (key === undefined || 'text' in key) return [];
  if (key.other === undefined) return [`No key is in force. To make one: ${command('key create NAME')}`];
  return [
    `The key ${key.other} is in force; put its text in the place of KEY. To make another: ${command('key create NAME')}`,
  ];
}

const head = 'apiVersion: modelgateway.dev/v1alpha1\n';

const apiKeyManifest = `# A key for callers. The gateway generates its text and keeps it in the data folder.
${head}kind: APIKey
metadata:
  name: ${quickStartKey.name}
spec:
  secretName: ${quickStartKey.secretName}
`;

const demoManifest = (
  port: number,
): string => `# The demo upstream, which \`${startCommand}\` runs. It only echoes: there is no model in it. To remove it, delete this file.
${head}kind: UpstreamNode
metadata:
  name: demo
spec:
  displayName: Demo (echoes, no model)
  baseURL: http://127.0.0.1:${port}/v1
`;

const serverManifest = (url: string): string => `# The server that --upstream named.
${head}kind: UpstreamNode
metadata:
  name: upstream
spec:
  baseURL: ${JSON.stringify(url)}
`;

const openAIManifest = async (apiKey: string, recipient: string): Promise<string> => {
  const sealed = await sealApiKey({
    recipient,
    namespace: 'default',
    name: 'openai',
    baseURL: openAIURL,
    apiKey,
  });
  return `# OpenAI, with the key of OPENAI_API_KEY sealed to this gateway: only it can read it, for this node alone.
${head}kind: UpstreamNode
metadata:
  name: openai
spec:
  displayName: OpenAI
  baseURL: ${openAIURL}
  nativeFormats: [Responses]
  encryptedAPIKey: |
${sealed.trimEnd().replaceAll(/^/gm, '    ')}
`;
};

const providerExample = `# To add a real provider: put in its address, keep ONE of the two ways to give its key, and save this file as
# provider.yaml beside this one. It applies at once; a mistake is logged with file, line and field.
${head}kind: UpstreamNode
metadata:
  name: my-provider
spec:
  # OpenAI: https://api.openai.com/v1 · Ollama: http://127.0.0.1:11434/v1 · vLLM: http://127.0.0.1:8000/v1
  baseURL: https://api.example.com/v1
  # One way: the key in a Secret, below. The other: encryptedAPIKey, made by
  #   ${program} seal --name my-provider --base-url https://api.example.com/v1 --data DATA-FOLDER
  apiKeySecretRef:
    name: my-provider
---
apiVersion: v1
kind: Secret
metadata:
  name: my-provider
stringData:
  apiKey: put-the-key-here
`;
