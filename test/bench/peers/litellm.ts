import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../../support/cached-folder.ts';
import { runProgram } from '../../support/run-program.ts';
import { benchModels, type Caller } from '../bench-requests.ts';
import type { Lab } from '../lab.ts';
import { freePort, type ProcessUnderTest } from '../process-under-test.ts';

const requirements = fileURLToPath(new URL('./packages/litellm/requirements.txt', import.meta.url));
/** 740 MB on disk. */
const installMs = 900_000;
const masterKey = 'sk-bench-key-0123456789-abcdefghijklmnop';

/**
 * Installs LiteLLM's proxy from PyPI into a virtual environment, as `requirements.txt` pins it, hashes and all; nothing is
 * built. @throws with what is missing
 */
export async function installLiteLLM(): Promise<{ folder: string; version: string }> {
  const about = 'import sys, pip; print(sys.implementation.cache_tag, sys.version_info >= (3, 10))';
  const python = await runProgram('python3', ['-c', about]).catch((error: Error) => {
    throw new Error(`LiteLLM: needs python3 (3.10 or newer) with pip in PATH: ${error.message}`);
  });
  const [tag = '', recent] = python.trim().split(' ');
  if (recent !== 'True') throw new Error(`LiteLLM: python3 is ${tag}; 3.10 or newer is needed`);
  const pinned = await readFile(requirements, 'utf8');
  const digest = createHash('sha256').update(pinned).digest('hex').slice(0, 16);
  const name = `bench-peers/litellm-${digest}-${tag}-${process.platform}-${process.arch}`;
  const folder = await cachedFolder(name, installMs, async (staging) => {
    await runProgram('python3', ['-m', 'venv', '--without-pip', '--symlinks', staging]);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-compile'];
    const safe = ['--require-hashes', '--only-binary', ':all:', '--requirement', requirements];
    const into = ['-m', 'pip', '--python', join(staging, 'bin', 'python3'), 'install'];
    await runProgram('python3', [...into, ...quiet, ...safe], { timeoutMs: installMs }).catch(
      (error: Error) => {
        throw new Error(
          `LiteLLM: pip cannot install it for ${tag} (see to the network and PyPI): ${error.message}`,
        );
      },
    );
  });
  return { folder, version: /^litellm==(\S+)/m.exec(pinned)?.[1] ?? 'unknown' };
}

/** Starts it with one worker, a key, and nothing that stores, logs or reports. */
export async function startLiteLLM(lab: Lab, folder: string): Promise<ProcessUnderTest> {
  const port = await freePort();
  const file = join(lab.directory, 'litellm.yaml');
  await writeFile(file, configuration(lab.upstream.port));
  const flags = ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  return lab.launch({
    ...{ name: 'litellm', program: join(folder, 'bin', 'python3'), port },
    arguments: ['-c', 'from litellm import run_server; run_server()', ...flags],
    environment: {
      LITELLM_MODE: 'PRODUCTION',
      // Also turns off the server's line for each request.
      LITELLM_LOG: 'ERROR',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_LOCAL_POLICY_TEMPLATES: 'True',
      LITELLM_DONT_SHOW_FEEDBACK_BOX: 'True',
      // The upstream says one word again and again, which it would take for a model that has lost its way.
      REPEATED_STREAMING_CHUNK_LIMIT: '1000000000',
      ...{ DO_NOT_TRACK: '1', PYTHONDONTWRITEBYTECODE: '' },
    },
    ...{ readyURL: `http://127.0.0.1:${port}/health/liveliness`, timeoutMilliseconds: 180_000 },
  });
}

export function litellmCaller(port: number): Caller {
  return { port, key: masterKey };
}

/** What it calls a node for each model; the last setting makes it ask for chat-completions in place of responses. */
function configuration(upstreamPort: number): string {
  const models = Object.values(benchModels).map(
    (model) => `  - model_name: ${model}
    litellm_params: {model: openai/${model}, api_base: "http://127.0.0.1:${upstreamPort}/v1", api_key: upstream}
`,
  );
  return `model_list:
${models.join('')}general_settings:
  master_key: ${masterKey}
litellm_settings:
  callbacks: []
  num_retries: 0
  request_timeout: 120
  use_chat_completions_url_for_anthropic_messages: true
`;
}
