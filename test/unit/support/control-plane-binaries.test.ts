import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  apiServerTestsLeftOut,
  cacheName,
  controlPlaneBinaries,
} from '../../support/control-plane/binaries.ts';
import { cacheFolder } from '../../support/from-cache.ts';

const programs = ['kube-apiserver', 'etcd', 'kubectl'];
const folder = () => cacheFolder(cacheName(env), env);
const said: string[] = [];
const say = (line: string) => void said.push(line);
let home: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  said.length = 0;
  home = mkdtempSync(join(tmpdir(), 'control-plane-binaries-'));
  env = { XDG_CACHE_HOME: home };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function place(folder: string, names: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(join(folder, name), '', { mode: 0o755 });
  return folder;
}
const works = async (staging: string) => place(staging, programs);
const fails = (text: string) => async (staging: string) => {
  place(staging, ['of-the-failed-way']);
  throw new Error(text);
};
const mustNotRun = () => {
  throw new Error('this way must not be tried');
};

test('the folder that KUBEBUILDER_ASSETS names comes first', async () => {
  const assets = place(join(home, 'assets'), [...programs, 'kube-controller-manager']);
  const found = await controlPlaneBinaries({ ...env, KUBEBUILDER_ASSETS: assets }, say, [mustNotRun]);
  expect(found.etcd).toBe(join(assets, 'etcd'));
  expect(found.kubeControllerManager).toBe(join(assets, 'kube-controller-manager'));
});

test('a KUBEBUILDER_ASSETS that lacks a program is an error, not another way', async () => {
  const assets = place(join(home, 'assets'), ['etcd']);
  const looking = controlPlaneBinaries({ KUBEBUILDER_ASSETS: assets }, say, [mustNotRun]);
  await expect(looking).rejects.toThrow(`KUBEBUILDER_ASSETS=${assets}: this folder lacks`);
});

test('what is in the cache is used without a lock or a way', async () => {
  place(folder(), programs);
  const found = await controlPlaneBinaries(env, say, [mustNotRun]);
  expect(found).toEqual({
    kubeApiserver: join(folder(), 'kube-apiserver'),
    etcd: join(folder(), 'etcd'),
    kubectl: join(folder(), 'kubectl'),
  });
});

test('when one way fails the next is tried, and nothing is left of it, of killed runs or of a broken cache', async () => {
  place(`${folder()}.building-1`, ['kube-apiserver']);
  place(folder(), ['half-deleted']);
  await controlPlaneBinaries(env, say, [fails('refused'), works]);
  await controlPlaneBinaries(env, say, [mustNotRun]);
  expect(readdirSync(folder()).sort()).toEqual([...programs].sort());
  expect(readdirSync(dirname(folder())).filter((name) => name.includes('building'))).toEqual([]);
});

test('when no way works the text names all three and the way to leave the tests out', async () => {
  const looking = controlPlaneBinaries(env, say, [fails('refused at once'), fails('go is missing')]);
  const text = await looking.then(
    () => '',
    (error: Error) => error.message,
  );
  for (const part of [
    'refused at once',
    'go is missing',
    'KUBEBUILDER_ASSETS',
    'raw.githubusercontent.com',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).toContain('Install Go');
  expect(text).toContain('MODEL_GATEWAY_TEST_WITHOUT_API_SERVER=1');
});

test('of two at once one builds, the other waits and uses what was built', async () => {
  let builds = 0;
  const slow = async (staging: string) => {
    builds++;
    await sleep(100);
    return works(staging);
  };
  await Promise.all([controlPlaneBinaries(env, say, [slow]), controlPlaneBinaries(env, say, [slow])]);
  expect(builds).toBe(1);
  expect(said).toEqual([expect.stringContaining('another process is fetching or building')]);
});

test('the cache has one folder for each set of versions', () => {
  expect(folder().slice(dirname(folder()).length)).toMatch(/kubernetes-v1\.\d+\.\d+-etcd-v3\./);
});

test.each([
  ['1', true],
  ['true', true],
  ['0', false],
  ['', false],
  [undefined, false],
])('MODEL_GATEWAY_TEST_WITHOUT_API_SERVER=%s leaves the tests out: %s', (value, leftOut) => {
  expect(
    apiServerTestsLeftOut(value === undefined ? {} : { MODEL_GATEWAY_TEST_WITHOUT_API_SERVER: value }),
  ).toBe(leftOut);
});
