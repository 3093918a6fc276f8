import { request } from 'undici';
import { z } from 'zod';

const revisionSchema = z.object({ header: z.object({ revision: z.string().transform(Number) }) });

/**
 * Makes etcd forget all history before now, and returns the revision up to which. Kubernetes resource versions are etcd
 * revisions: watches from an older one are answered with 410.
 */
export async function compactEtcd(etcdURL: string): Promise<number> {
  const anyKey = Buffer.from('/').toString('base64');
  const { header } = revisionSchema.parse(await ask(`${etcdURL}/v3/kv/range`, { key: anyKey }));
  await ask(`${etcdURL}/v3/kv/compaction`, { revision: String(header.revision), physical: true });
  return header.revision;
}

async function ask(url: string, message: object): Promise<unknown> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    body: JSON.stringify(message),
    headers: { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(10_000),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`etcd: POST ${url}: HTTP ${statusCode}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}
