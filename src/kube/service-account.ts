import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { ClusterConfig } from './credentials.ts';

const folder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Whether this process has a service account and no kubeconfig, which would take precedence.
 */
export function hasServiceAccountAlone(): boolean {
  if (process.env['KUBECONFIG'] || !existsSync(`${folder}/token`)) return false;
  try {
    return !existsSync(join(homedir(), '.kube', 'config'));
  } catch {
    // No HOME, and a user that is not in /etc/passwd: usual in a pod.
    return true;
  }
}

/**
 * The cluster and user of a pod's service account. It does not use client-node, which takes 90 MB of memory and reads
 * kubeconfigs, which a pod does not have. Token and CA are read again each time, because they rotate.
 *
 * @param root prefix of the service account's folder
 * @throws Error outside of a pod
 */
export function loadServiceAccount(root = ''): ClusterConfig {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (!host || !port) {
    throw new Error(
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: run in a pod, or give a kubeconfig',
    );
  }
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const read = (name: string): string => readFileSync(`${root}${folder}/${name}`, 'utf8');
  const hasNamespace = existsSync(`${root}${folder}/namespace`);
  const namespace = (hasNamespace ? read('namespace').trim() : '') || 'default';
  return {
    ...{ usesPlugin: false, context: 'inClusterContext', server, namespace },
    credentials: async () => ({
      server: new URL(server),
      headers: { authorization: `Bearer ${read('token').trim()}` },
      tls: { type: 'agent', connect: { ca: Buffer.from(read('ca.crt')) } },
      namespace,
    }),
  };
}
