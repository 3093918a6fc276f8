import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type AgentTask, type Done, fileIs, goodbye, must, mustBe, type Place } from './agent-task.ts';
import { codeBlock } from './code-block.ts';
import type { Call } from './model-answer.ts';
import type { Play, ToolResult } from './model-server.ts';

/** Named in the settings so that Codex knows what the model can: it then offers `apply_patch`, a custom tool. */
export const knownModel = 'gpt-5.5';

const mcpServer = fileURLToPath(new URL('./mcp-server.ts', import.meta.url));

async function prepare({ key }: Place) {
  const quiet = ['-c', 'analytics.enabled=false', '-c', 'features.plugins=false'];
  const mcp = [`command=${JSON.stringify(process.execPath)}`, `args=[${JSON.stringify(mcpServer)}]`];
  for (const setting of mcp) quiet.push('-c', `mcp_servers.numbers.${setting}`);
  const args = [
    'exec',
    ...['--profile', 'model-gateway'],
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    ...quiet,
  ];
  return { args, env: { MODEL_GATEWAY_KEY: key() } };
}

/**
 * Codex with a model that it knows: two commands at once, a patch, a stream that breaks, a command, a search for a tool
 * and a call of it, an answer.
 */
export function codexTask(script: string, name: string, word: string): AgentTask {
  return {
    ...{ name, prepare },
    agent: 'codex',
    program: [process.execPath, script],
    conversion: 'Lossy',
    path: '/responses',
    model: knownModel,
    files: { 'greeting.txt': `Hello ${word}\n` },
    play: () => playPatch,
    breaks: 1,
    dropped: [
      'tools[N]',
      'tools[N].format',
      'text.verbosity',
      'prompt_cache_key',
      'client_metadata',
      // Reasoning, which the node does not want back.
      'input[N]',
      // Of the tools that were found.
      'input[N].tools[N].description',
      'input[N].tools[N].tools[N].defer_loading',
    ],
    checks: {
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the commands ran': fileIs('ran.txt', '42\n'),
      'every command and patch went well': ({ stdout }) => {
        const done = itemsOf(stdout);
        mustBe(done.filter(({ type }) => type === 'command_execution').length, 3, 'the number of commands');
        mustBe(done.filter(({ type }) => type === 'file_change').length, 1, 'the number of patches');
        for (const { type, status } of done)
          if (type !== 'agent_message' && type !== 'reasoning')
            mustBe(status, 'completed', `the status of a ${type}`);
      },
      'the answer is the model’s': ({ stdout }) => {
        const last = itemsOf(stdout).findLast(({ type }) => type === 'agent_message');
        mustBe(last?.text, `It says: ${goodbye} ${word}`, 'the answer');
      },
      'tokens are counted': checkUsage(6),
    },
  };
}

/** The same task with a key that refuses what would be lost, and with the settings that docs/strict.md gives for it. */
export function strictCodexTask(task: AgentTask): AgentTask {
  const settings = codeBlock('docs/strict.md', 'web_search').trim().split('\n');
  return {
    ...task,
    name: `${task.name}, Strict`,
    conversion: 'Strict',
    dropped: task.dropped.filter((path) => path !== 'tools[N]' && path !== 'text.verbosity'),
    async prepare(place) {
      const { args, env } = await task.prepare(place);
      return { args: [...args, ...settings.flatMap((setting) => ['-c', setting.replace(' = ', '=')])], env };
    },
  };
}

const playPatch: Play = (step, results, request) => {
  if (step === 0) {
    must(
      request.tools?.some((tool) => tool.function.name === 'apply_patch') ?? false,
      'apply_patch is not offered',
    );
    return {
      reasoning: 'First I look at the file. Ein Blick genügt.',
      text: 'Let me look at it.',
      calls: [run('call_look', 'cat greeting.txt'), run('call_run', 'echo $((6*7)) | tee ran.txt')],
    };
  }
  if (step === 1) {
    must(/\b42\b/.test(resultOf(results, 1)), 'the second call has not the result of the second command');
    const patch = [
      ...['*** Begin Patch', '*** Update File: greeting.txt', '@@'],
      ...[
        `-Hello ${wordIn(results, 'Hello')}`,
        `+${goodbye} ${wordIn(results, 'Hello')}`,
        '*** End Patch',
        '',
      ],
    ];
    return { calls: [{ id: 'call_edit', name: 'apply_patch', arguments: { input: patch.join('\n') } }] };
  }
  if (step === 2) {
    must(resultOf(results, 2).includes('Success'), `the patch: ${resultOf(results, 2)}`);
    return { text: 'Let me check it.', calls: [run('call_check', 'cat greeting.txt')], breaksOnce: true };
  }
  if (step === 3)
    return { calls: [{ id: 'call_find', name: 'tool_search', arguments: { query: 'double' } }] };
  if (step === 4) {
    const name = /\bmcp__\w+__double\b/.exec(resultOf(results, 4))?.[0] ?? '';
    const offered = request.tools?.some((tool) => tool.function.name === name) ?? false;
    must(offered, `what was found is not offered: ${resultOf(results, 4)}`);
    return { calls: [{ id: 'call_double', name, arguments: { number: 21 } }] };
  }
  must(resultOf(results, 5).includes('twice is 42'), `the found tool: ${resultOf(results, 5)}`);
  return { text: `It says: ${lastLine(resultOf(results, 3))}` };
};

/** Codex with a model that it does not know: it offers tools in namespaces at once, and edits are commands. */
export function codexNamespaceTask(script: string, name: string, model: string, word: string): AgentTask {
  return {
    ...{ name, prepare, model },
    agent: 'codex',
    program: [process.execPath, script],
    conversion: 'Lossy',
    path: '/responses',
    files: { 'greeting.txt': `Hello ${word}\n` },
    play: () => playNamespace,
    breaks: 0,
    dropped: ['tools[N]', 'tools[N].description', 'prompt_cache_key', 'client_metadata', 'input[N]'],
    checks: {
      'the file is edited': fileIs('greeting.txt', `Goodbye ${word}\n`),
      'the answer is the model’s': ({ stdout }) => {
        const last = itemsOf(stdout).findLast(({ type }) => type === 'agent_message');
        mustBe(last?.text, `It says: Goodbye ${word}`, 'the answer');
      },
      'tokens are counted': checkUsage(3),
    },
  };
}

/** Codex with a model that it does not know, and that the gateway knows: it offers the patch tool, and knows the window. */
export function codexCardTask(script: string, name: string, model: string, word: string): AgentTask {
  const task = codexTask(script, name, word);
  return {
    ...task,
    dropped: [...task.dropped, 'tools[N].description'],
    ...{ model, play: () => playCard, breaks: 0, card: { contextTokens: 60_000, displayName: 'Scripted' } },
    checks: {
      'the gateway is asked for the model': ({ exchanges }) =>
        must(
          exchanges.some(({ url }) => url.startsWith('/v1/models?client_version=')),
          'it was not asked',
        ),
      'the model is known': ({ stdout, stderr }) =>
        must(!/metadata|failed to refresh/i.test(stdout + stderr), `it is not:\n${stderr}`),
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the patch went well': ({ stdout }) =>
        mustBe(
          itemsOf(stdout).filter(({ type }) => type === 'file_change').length,
          1,
          'the number of patches',
        ),
      'tokens are counted': checkUsage(3),
    },
  };
}

const playCard: Play = (step, results, request) => {
  if (step > 1) {
    must(resultOf(results, 2).includes('Success'), `the patch: ${resultOf(results, 2)}`);
    return { text: 'It is done.' };
  }
  return playPatch(step === 0 ? 0 : 1, results, request);
};

const playNamespace: Play = (step, results, request) => {
  const wait = request.tools
    ?.map((tool) => tool.function.name)
    .find((tool) => /^multi_agent_v\d__wait/.test(tool));
  if (step === 0) {
    must(wait !== undefined, 'no tool of a namespace is offered');
    return {
      calls: [
        { id: 'call_wait', name: wait ?? '', arguments: { targets: ['nobody'] } },
        run('call_edit', "sed -i 's/Hello/Goodbye/' greeting.txt"),
      ],
    };
  }
  if (step === 1) {
    // What Codex says of a tool that it is called by another name than its own.
    must(!resultOf(results, 0).includes('unsupported call'), resultOf(results, 0));
    return { calls: [run('call_check', 'cat greeting.txt')] };
  }
  return { text: `It says: ${lastLine(resultOf(results, 2))}` };
};

function run(id: string, cmd: string): Call {
  return { id, name: 'exec_command', arguments: { cmd } };
}

export function resultOf(results: readonly ToolResult[], at: number): string {
  const found = results[at];
  if (found === undefined) throw new Error(`there is no result ${at}`);
  return found.result;
}

/** The word behind another one in the result of the first call: the model knows it from there alone. */
export function wordIn(results: readonly ToolResult[], before: string, at = 0): string {
  const found = new RegExp(`${before} (\\w+)`).exec(resultOf(results, at))?.[1];
  if (found === undefined) throw new Error(`no word behind ${before} in ${resultOf(results, at)}`);
  return found;
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

interface Item {
  readonly type: string;
  readonly status?: string;
  readonly text?: string;
}

function eventsOf(stdout: string): { type: string; item?: Item; usage?: Record<string, number> }[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { type: string });
}

function itemsOf(stdout: string): Item[] {
  return eventsOf(stdout).flatMap(({ type, item }) =>
    type === 'item.completed' && item !== undefined ? [item] : [],
  );
}

/** Codex adds up what whole answers used; the node says the same of each. */
function checkUsage(answers: number): (done: Done) => void {
  return ({ stdout }) => {
    const used = eventsOf(stdout).find(({ type }) => type === 'turn.completed')?.usage;
    mustBe(used?.['input_tokens'], 1000 * answers, 'input_tokens');
    mustBe(used?.['cached_input_tokens'], 600 * answers, 'cached_input_tokens');
    mustBe(used?.['output_tokens'], 50 * answers, 'output_tokens');
    mustBe(used?.['reasoning_output_tokens'], 10 * answers, 'reasoning_output_tokens');
  };
}
