import { join } from 'node:path';
import { z } from 'zod';
import { type AgentTask, type Done, fileIs, goodbye, mustBe, type Place } from './agent-task.ts';
import { resultOf, wordIn } from './codex.ts';
import type { Play } from './model-server.ts';

/** Nothing that is not the task. */
const quiet = { CLINE_NO_AUTO_UPDATE: '1', CLINE_LOG_ENABLED: '0', DO_NOT_TRACK: '1' };

/** Cline: a command beside a read, an edit, a command, an answer; its requests are passed through. */
export function clineTask(program: string, name: string, model: string, word: string): AgentTask {
  return {
    ...{ name, model },
    agent: 'cline',
    program: [program],
    conversion: 'Strict',
    path: '/chat/completions',
    card: { contextTokens: 60_000, outputTokens: 8_000 },
    files: { 'greeting.txt': `Hello ${word}\n` },
    async prepare({ key }) {
      return { args: ['--json'], env: { OPENAI_API_KEY: key(), ...quiet } };
    },
    play: playEdit,
    breaks: 0,
    asksElsewhere: true,
    dropped: [],
    checks: {
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the commands ran': fileIs('ran.txt', '42\n'),
      'it ends as it should, and tokens are counted': (done) => {
        const { finishReason, usage } = resultIn(done);
        mustBe(finishReason, 'completed', 'finishReason');
        mustBe(usage.outputTokens, 50 * 4, 'outputTokens');
      },
    },
  };
}

function playEdit({ work }: Place): Play {
  const path = join(work, 'greeting.txt');
  return (step, results) => {
    if (step === 0)
      return {
        text: 'Let me look at it.',
        calls: [
          { id: 'call_run', name: 'run_commands', arguments: { commands: ['echo $((6*7)) | tee ran.txt'] } },
          { id: 'call_look', name: 'read_files', arguments: { files: [{ path }] } },
        ],
      };
    if (step === 1) {
      const word = wordIn(results, 'Hello', 1);
      const edit = { path, old_text: `Hello ${word}`, new_text: `${goodbye} ${word}` };
      return { calls: [{ id: 'call_edit', name: 'editor', arguments: edit }] };
    }
    if (step === 2)
      return {
        calls: [{ id: 'call_check', name: 'run_commands', arguments: { commands: ['cat greeting.txt'] } }],
      };
    return { text: `It says: ${resultOf(results, 3).trim()}` };
  };
}

const endSchema = z.looseObject({
  finishReason: z.string(),
  usage: z.looseObject({ outputTokens: z.number() }),
});

function resultIn({ stdout }: Done): z.output<typeof endSchema> {
  const line = stdout.split('\n').findLast((each) => each.includes('"run_result"'));
  return endSchema.parse(JSON.parse(line ?? '{}'));
}
