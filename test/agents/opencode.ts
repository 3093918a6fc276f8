import { join } from 'node:path';
import { z } from 'zod';
import { type AgentTask, type Done, fileIs, goodbye, must, mustBe, type Place } from './agent-task.ts';
import { resultOf, wordIn } from './codex.ts';
import type { Play } from './model-server.ts';

/** Nothing that is not the task. */
const quiet = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
};

/** opencode: a command beside a read, an edit, a command, an answer; its requests are passed through. */
export function opencodeTask(program: string, name: string, model: string, word: string): AgentTask {
  return {
    ...{ name, model },
    agent: 'opencode',
    program: [program],
    conversion: 'Strict',
    path: '/chat/completions',
    card: { contextTokens: 60_000, outputTokens: 8_000 },
    files: { 'greeting.txt': `Hello ${word}\n` },
    async prepare({ key }) {
      return { args: ['run', '--format', 'json', '--auto'], env: { MODEL_GATEWAY_KEY: key(), ...quiet } };
    },
    play: playEdit,
    breaks: 0,
    asksElsewhere: true,
    dropped: [],
    checks: {
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the commands ran': fileIs('ran.txt', '42\n'),
      'the answer is the model’s': (done) => {
        const texts = partsOf(done).flatMap(({ text }) => text ?? []);
        mustBe(texts.at(-1)?.trim(), `It says: ${goodbye} ${word}`, 'the answer');
      },
      'tokens are counted': (done) => {
        const counts = partsOf(done).flatMap(({ tokens }) => tokens ?? []);
        mustBe(counts.length, 4, 'the number of steps');
        for (const { input, output, cache } of counts) {
          mustBe(input, 400, 'input');
          mustBe(cache.read, 600, 'cache.read');
          must(output === 40 || output === 50, `output is ${output}`);
        }
      },
      'answers are as long as the card says': ({ exchanges }) => {
        for (const { url, body } of exchanges)
          if (url === '/v1/chat/completions')
            mustBe(lengthSchema.parse(JSON.parse(body)).max_tokens, 8_000, 'max_tokens');
      },
    },
  };
}

function playEdit({ work }: Place): Play {
  const filePath = join(work, 'greeting.txt');
  return (step, results) => {
    if (step === 0)
      return {
        reasoning: 'First I look at the file. Ein Blick genügt.',
        text: 'Let me look at it.',
        calls: [
          { id: 'call_run', name: 'bash', arguments: { command: 'echo $((6*7)) | tee ran.txt' } },
          { id: 'call_look', name: 'read', arguments: { filePath } },
        ],
      };
    if (step === 1) {
      mustBe(resultOf(results, 0).trim(), '42', 'the result of the first call');
      const word = wordIn(results, 'Hello', 1);
      const edit = { filePath, oldString: `Hello ${word}`, newString: `${goodbye} ${word}` };
      return { calls: [{ id: 'call_edit', name: 'edit', arguments: edit }] };
    }
    if (step === 2) {
      const command = 'cat greeting.txt';
      return { calls: [{ id: 'call_check', name: 'bash', arguments: { command } }] };
    }
    return { text: `It says: ${resultOf(results, 3).trim()}` };
  };
}

const lengthSchema = z.looseObject({ max_tokens: z.number() });
const eventSchema = z.looseObject({
  part: z
    .looseObject({
      text: z.string().optional(),
      tokens: z
        .looseObject({
          input: z.number(),
          output: z.number(),
          cache: z.looseObject({ read: z.number() }),
        })
        .optional(),
    })
    .optional(),
});

type Part = NonNullable<z.output<typeof eventSchema>['part']>;

function partsOf({ stdout }: Done): Part[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): unknown => JSON.parse(line))
    .flatMap((event): Part[] => {
      const { part } = eventSchema.parse(event);
      return part === undefined ? [] : [part];
    });
}
