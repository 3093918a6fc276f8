import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { cachedFolder } from '../../support/cached-folder.ts';
import { runProgram } from '../../support/run-program.ts';
import { benchKey } from '../bench-manifests.ts';
import type { Lab } from '../lab.ts';
import { freePort, type ProcessUnderTest } from '../process-under-test.ts';

/** Debian's own version; where its mirrors no longer have it, the one that they have is taken and named. */
const pinned = '1.22.1-9+deb12u10';
const installMs = 300_000;

/**
 * Takes the program out of Debian's package, without installing it; apt checks its hash against the signed index.
 * @throws with what is missing
 */
export async function installNginx(): Promise<{ folder: string; version: string }> {
  const folder = await cachedFolder(
    `bench-peers/nginx-${pinned}-${process.arch}`,
    installMs,
    async (staging) => {
      const failures: string[] = [];
      const run = (program: string, ...args: string[]) =>
        runProgram(program, args, { cwd: staging, timeoutMs: installMs }).then(
          () => true,
          (error: Error) => {
            failures.push(error.message);
            return false;
          },
        );
      const got =
        (await run('apt-get', 'download', `nginx=${pinned}`)) ||
        // An image of Debian has no lists; only root may fetch them.
        ((await run('apt-get', 'update')) && (await run('apt-get', 'download', `nginx=${pinned}`))) ||
        (await run('apt-get', 'download', 'nginx'));
      const [archive] = (await readdir(staging)).filter((name) => name.endsWith('.deb'));
      if (!got || archive === undefined) {
        throw new Error(
          `nginx: Debian's package cannot be had by \`apt-get download nginx\`: ${failures.join('; ')}`,
        );
      }
      await runProgram('dpkg-deb', ['-x', archive, 'package'], { cwd: staging, timeoutMs: installMs });
      await cp(join(staging, 'package', 'usr', 'sbin', 'nginx'), join(staging, 'nginx'));
      await writeFile(join(staging, 'version'), archive.split('_')[1] ?? '');
    },
  );
  await runProgram(join(folder, 'nginx'), ['-v']).catch((error: Error) => {
    throw new Error(
      `nginx: its program does not start here; \`apt-get install nginx\` brings what it needs: ${error.message}`,
    );
  });
  return { folder, version: await readFile(join(folder, 'version'), 'utf8') };
}

/** Starts nginx as a proxy that checks the caller's key and brings the node's. */
export async function startNginx(lab: Lab, folder: string): Promise<ProcessUnderTest> {
  const port = await freePort();
  const file = join(lab.directory, 'nginx.conf');
  await writeFile(file, configuration(lab.directory, port, lab.upstream.port));
  return lab.launch({
    ...{ name: 'nginx', program: join(folder, 'nginx'), port },
    arguments: ['-c', file, '-p', lab.directory, '-e', join(lab.directory, 'nginx-errors')],
    ...{ readyURL: undefined, timeoutMilliseconds: 10_000 },
  });
}

/**
 * One process, because that is what is pinned and counted; without buffering of answers, or streams would wait for full
 * buffers. Its user is the one that started it, because a network of its own knows no other.
 */
function configuration(directory: string, port: number, upstreamPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/nginx-${name};`,
  );
  return `user root;
daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log ${directory}/nginx-errors crit;
events { worker_connections 19000; }
http {
  access_log off;
  ${temporary.join(' ')}
  tcp_nodelay on;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  client_max_body_size 32m;
  client_body_buffer_size 16m;
  map_hash_bucket_size 128;
  map $http_authorization $known { default 0; "Bearer ${benchKey}" 1; }
  upstream node { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      if ($known = 0) { return 401; }
      proxy_pass http://node;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer upstream";
      proxy_buffering off;
    }
  }
}
`;
}
