import type { ApiClient } from '../api-client.ts';
import { type Container, type EnvironmentVariable, type Pod, podField } from './pod.ts';

/**
 * A container's environment as the kubelet makes it: its own variables with `valueFrom` resolved and `$(NAME)` expanded,
 * and where the API server is.
 *
 * @throws naming a Secret or ConfigMap that is missing
 */
export async function environmentOf(
  pod: Pod,
  container: Container,
  podIP: string,
  client: ApiClient,
  apiServer: URL,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: apiServer.hostname,
    KUBERNETES_SERVICE_PORT: apiServer.port,
    HOSTNAME: pod.metadata.name,
  };
  for (const variable of container.env ?? []) {
    const value = await resolved(variable);
    if (value !== undefined) env[variable.name] = value;
  }
  return env;

  async function resolved({ value = '', valueFrom }: EnvironmentVariable): Promise<string | undefined> {
    if (valueFrom?.fieldRef) return podField(pod, podIP, valueFrom.fieldRef.fieldPath);
    if (valueFrom?.secretKeyRef) return entry('secrets', valueFrom.secretKeyRef);
    if (valueFrom?.configMapKeyRef) return entry('configmaps', valueFrom.configMapKeyRef);
    return expand(value, env);
  }

  async function entry(
    kind: 'secrets' | 'configmaps',
    { name, key, optional }: { name: string; key: string; optional?: boolean },
  ): Promise<string | undefined> {
    const { status, body } = await client.send(
      'GET',
      `/api/v1/namespaces/${pod.metadata.namespace}/${kind}/${name}`,
    );
    const value = status === 200 ? (body as { data?: Record<string, string> }).data?.[key] : undefined;
    if (value !== undefined)
      return kind === 'secrets' ? Buffer.from(value, 'base64').toString('utf8') : value;
    if (optional === true) return undefined;
    throw new Error(`${kind} ${name} has no entry ${key} (HTTP ${status})`);
  }
}

/** `$(NAME)` in arguments and values; `$$(NAME)` and names that are not there stay as they are. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(\$|\(([A-Za-z_][A-Za-z0-9_]*)\))/g, (whole, kind: string, name?: string) => {
    if (kind === '$') return '$';
    return env[name ?? ''] ?? whole;
  });
}
