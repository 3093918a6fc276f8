import type { KubeConfig } from '@kubernetes/client-node';
import * as z from 'zod';

const text = z.string().nullish();
const schemas = {
  context: z.looseObject({ namespace: text }),
  cluster: z.looseObject({
    server: z.string(),
    proxyUrl: text,
    caData: text,
    caFile: text,
    tlsServerName: text,
  }),
  user: z.looseObject({
    ...{ token: text, username: text, password: text, impersonateUser: text },
    ...{ certData: text, certFile: text, keyData: text, keyFile: text },
    exec: z.looseObject({ command: z.string(), env: z.array(z.unknown()).nullish() }).nullish(),
  }),
};

/**
 * Checks the types of a kubeconfig's values, because client-node does not: it calls methods of strings on numbers and lists.
 *
 * @throws Error naming the field of the current context, cluster or user that has another type than kubectl takes
 */
export function checkKubeconfig(config: KubeConfig): void {
  const current = {
    context: config.getContextObject(config.getCurrentContext()),
    cluster: config.getCurrentCluster(),
    user: config.getCurrentUser(),
  };
  for (const part of ['context', 'cluster', 'user'] as const) {
    const value = current[part];
    const issue = value === null ? undefined : schemas[part].safeParse(value).error?.issues[0];
    if (issue === undefined) continue;
    const field = [part, ...issue.path].join('.');
    throw new Error(`kubeconfig field ${field} has the wrong type (${issue.message}): correct it`);
  }
}
