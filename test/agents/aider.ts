import { type AgentTask, fileIs, goodbye, must } from './agent-task.ts';
import type { PythonProgram } from './install-aider.ts';
import type { ChatRequest, Play } from './model-server.ts';

/** aider: an edit by a listing of the whole file, because it offers no tools; its request is passed through. */
export function aiderTask(
  { program, env }: PythonProgram,
  name: string,
  model: string,
  word: string,
): AgentTask {
  return {
    ...{ name, model, program },
    agent: 'aider',
    withoutTools: true,
    conversion: 'Strict',
    path: '/chat/completions',
    card: { contextTokens: 60_000, outputTokens: 8_000 },
    files: { 'greeting.txt': `Hello ${word}\n` },
    async prepare({ key }) {
      return {
        args: [...quiet, '--yes-always', '--no-git', 'greeting.txt', '--message'],
        // The list of prices is the one that it brings.
        env: { AIDER_OPENAI_API_KEY: key(), LITELLM_LOCAL_MODEL_COST_MAP: 'True', ...env },
      };
    },
    play: () => play,
    breaks: 0,
    dropped: [],
    checks: {
      'the file is edited': fileIs('greeting.txt', `${goodbye} ${word}\n`),
      'the edit is shown': ({ stdout }) => must(stdout.includes('Applied edit to greeting.txt'), stdout),
      'the window is known': ({ stdout }) => must(!stdout.includes('Unknown context window'), stdout),
    },
  };
}

/** Nothing that is not the task. */
const quiet = ['--no-check-update', '--no-show-release-notes', '--analytics-disable', '--no-pretty'];

const play: Play = (_step, _results, request) => {
  const word = /Hello (w[0-9a-f]+)/.exec(JSON.stringify(textsOf(request)))?.[1];
  must(word !== undefined, 'the file is not in the prompt');
  return { text: `I say goodbye.\n\ngreeting.txt\n\`\`\`\n${goodbye} ${word}\n\`\`\`\n` };
};

function textsOf({ messages }: ChatRequest): unknown {
  return messages.map(({ content }) => content);
}
