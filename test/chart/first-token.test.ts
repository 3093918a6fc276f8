import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { chartFolder } from '../support/chart.ts';
import { runShell } from '../support/cli.ts';
import { isolates } from '../support/kubelet/sandbox.ts';
import { measured } from '../support/measured.ts';
import { startReleaseStage } from '../support/release.ts';
import { startUpstream } from '../support/upstream.ts';

test("the README's five lines lead from nothing to a first token", async () => {
  const readme = await readFile(join(chartFolder, 'README.md'), 'utf8');
  const [install = '', secret = '', wait = '', forward = '', call = ''] =
    /## From nothing to a first token\n\n```sh\n([\s\S]+?)\n```/.exec(readme)?.[1]?.split('\n') ?? [];
  const began = performance.now();
  await using stage = await startReleaseStage();
  const upstream = await startUpstream({ apiKey: 'sk-first', models: ['gpt-5-mini'] });
  const env = { KUBECONFIG: stage.plane.kubeconfig, OPENAI_API_KEY: 'sk-first', HOME: stage.plane.folder };
  const paste = async (line: string) => {
    const { code, stdout, stderr } = await runShell(line, {
      env: { ...env, PATH: `${dirname(stage.plane.kubectlBinary)}:${process.env['PATH']}` },
    });
    expect(code, `${line}\n${stderr}\n${stage.said.join('\n')}`).toBe(0);
    return stdout;
  };

  // The chart of this checkout, and a model server of this test: for it the roles may go to loopback.
  const set = /--set '([^']+)'/.exec(install)?.[1]?.replace('https://api.openai.com/v1', upstream.url) ?? '';
  const installed = await stage.release('install', {
    name: 'model-gateway',
    namespace: 'model-gateway',
    flags: ['--set', set],
  });
  expect(installed.code, installed.stderr).toBe(0);
  await paste(secret);
  await paste(wait);
  // There is no port-forward without a kubelet's own server: the same Service is called where it is.
  const [, name = ''] = /service\/(\S+) 8080:80/.exec(forward) ?? [];
  const address = stage.kubelet.services.address('model-gateway', name, isolates ? 80 : 8080);
  const answer = await paste(call.replace('127.0.0.1:8080', address));
  expect(answer).toMatch(/^data: \{[\s\S]*"content":"[\s\S]*data: \[DONE\]\n\n$/);
  measured(
    'nothing → first token, with an API server that is started first',
    performance.now() - began,
    60_000,
  );
  await upstream.stop();
});
