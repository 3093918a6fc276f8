import { join } from 'node:path';
import { z } from 'zod';
import { type AgentTask, fileIs, goodbye, must, mustBe, type Place } from './agent-task.ts';
import { lastLine, resultOf, wordIn } from './codex.ts';
import type { Play } from './model-server.ts';

/** Nothing that is not the task, and no objection to be root in a container. */
const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  IS_SANDBOX: '1',
};

/** Claude Code: a command beside a read, an edit, a stream that breaks, a search for tools, a command, an answer. */
export function claudeCodeTask(script: string, name: string, model: string, word: string): AgentTask {
  return {
    ...{ name, model },
    agent: 'claude',
    program: [process.execPath, script],
    conversion: 'Lossy',
    path: '/messages',
    files: { 'greeting.txt': `Hello ${word}\n`, 'long.txt': 'All work and no play.\n'.repeat(2000) },
    async prepare({ key }) {
      return {
        args: ['-p', '--output-format', 'json', '--dangerously-skip-permissions'],
        env: { MODEL_GATEWAY_KEY: key(), ...quiet },
      };
    },
    play: playEdit,
    breaks: 1,
    dropped: [
      'context_management',
      'thinking.display',
      'metadata.user_id',
      'tools[N].defer_loading',
      'system[N].cache_control',
      'messages[N].content[N].cache_control',
      // Thoughts, which the node does not want back.
      'messages[N].content[N]',
    ],
    checks: {
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the commands ran': fileIs('ran.txt', '42\n'),
      'the answer is the model’s': ({ stdout }) => {
        const { result, is_error } = resultSchema.parse(JSON.parse(lastLine(stdout)));
        mustBe(is_error, false, 'is_error');
        mustBe(result, `It says: ${goodbye} ${word}`, 'the answer');
      },
      'tokens are counted': ({ stdout }) => {
        const { usage } = resultSchema.parse(JSON.parse(lastLine(stdout)));
        // The node counts cached tokens in with the others, Anthropic does not.
        mustBe(usage.input_tokens, 400 * 5, 'input_tokens');
        mustBe(usage.cache_read_input_tokens, 600 * 5, 'cache_read_input_tokens');
        mustBe(usage.output_tokens, 50 * 5, 'output_tokens');
      },
      'after the broken stream it asked again without streaming': ({ exchanges }) => {
        const plain = exchanges.filter(
          ({ url, answered }) =>
            url.startsWith('/v1/messages?') && answered['content-type']?.startsWith('application/json'),
        );
        mustBe(plain.length, 1, 'the number of plain answers');
      },
      'the count of tokens is called an estimate': ({ exchanges }) => {
        const count = exchanges.find(({ url }) => url.startsWith('/v1/messages/count_tokens'));
        mustBe(count?.answered['x-model-gateway-conversion'], 'count_tokens->estimate', 'the header');
        const { input_tokens: tokens } = countSchema.parse(JSON.parse(count?.answer ?? ''));
        must(tokens > 5000 && tokens < 50_000, `it is ${tokens}`);
      },
    },
  };
}

function playEdit({ work }: Place): Play {
  const file_path = join(work, 'greeting.txt');
  return (step, results, request) => {
    if (step === 0)
      return {
        reasoning: 'First I look at the file. Ein Blick genügt.',
        text: 'Let me look at it.',
        calls: [
          { id: 'call_run', name: 'Bash', arguments: { command: 'sleep 1; echo $((6*7)) | tee ran.txt' } },
          { id: 'call_look', name: 'Read', arguments: { file_path } },
          { id: 'call_long', name: 'Read', arguments: { file_path: join(work, 'long.txt') } },
        ],
      };
    if (step === 1) {
      mustBe(resultOf(results, 0).trim(), '42', 'the result of the first call');
      const word = wordIn(results, 'Hello', 1);
      const edit = { file_path, old_string: `Hello ${word}`, new_string: `${goodbye} ${word}` };
      return { calls: [{ id: 'call_edit', name: 'Edit', arguments: edit }] };
    }
    if (step === 2) {
      must(resultOf(results, 3).includes('updated'), `the edit: ${resultOf(results, 3)}`);
      const query = { query: 'select:NotebookEdit', max_results: 1 };
      const calls = [{ id: 'call_search', name: 'ToolSearch', arguments: query }];
      return { text: 'Let me search.', calls, breaksOnce: true };
    }
    if (step === 3) {
      const offered = request.tools?.some((tool) => tool.function.name === 'NotebookEdit') ?? false;
      must(
        offered && resultOf(results, 4).includes('NotebookEdit'),
        'the tool that was found is not offered',
      );
      return { calls: [{ id: 'call_check', name: 'Bash', arguments: { command: 'cat greeting.txt' } }] };
    }
    return { text: `It says: ${lastLine(resultOf(results, 5))}` };
  };
}

const resultSchema = z.looseObject({
  result: z.string(),
  is_error: z.boolean(),
  usage: z.looseObject({
    input_tokens: z.number(),
    cache_read_input_tokens: z.number(),
    output_tokens: z.number(),
  }),
});
const countSchema = z.strictObject({ input_tokens: z.number() });
