import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { downloadControllerManager } from '../../support/control-plane/download.ts';

const program = Buffer.from('the program');
let digest: string;
let folder: string;
let server: Server;
let origin: string;

beforeEach(async () => {
  digest = createHash('sha256').update(program).digest('hex');
  folder = mkdtempSync(join(tmpdir(), 'control-plane-download-'));
  server = createServer((request, response) => {
    const path = request.url ?? '';
    if (!path.startsWith('/release/v1.36.3/bin/linux/')) response.writeHead(404).end();
    else response.end(path.endsWith('.sha256') ? digest : program);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the controller manager is kept when its digest is the published one', async () => {
  await downloadControllerManager(folder, 'v1.36.3', origin, 'linux');
  const file = join(folder, 'kube-controller-manager');
  expect(readFileSync(file)).toEqual(program);
  expect(statSync(file).mode & 0o111).toBe(0o111);
});

test('nothing is kept when the digest is another', async () => {
  digest = 'f'.repeat(64);
  await expect(downloadControllerManager(folder, 'v1.36.3', origin, 'linux')).rejects.toThrow('SHA-256 is');
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ['a version that does not exist', 'v0.0.0', 'linux', 'HTTP 404'],
  ['a platform without one', 'v1.36.3', 'darwin', 'Kubernetes publishes none for darwin'],
])('%s is an error', async (_, version, platform, message) => {
  await expect(downloadControllerManager(folder, version, origin, platform)).rejects.toThrow(message);
});
