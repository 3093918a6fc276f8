import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ControlPlaneAddress } from './control-plane.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface ApiRequest {
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`; for PATCH `application/merge-patch+json`. */
  contentType?: string;
  timeoutMs?: number;
}

/** Plain JSON requests to the API server. Paths carry their query. */
export interface ApiClient extends AsyncDisposable {
  /** Answers whatever the server says. */
  send(method: Method, path: string, options?: ApiRequest): Promise<{ status: number; body: unknown }>;
  /** Answers the body of a 2xx. @throws with the server's message otherwise. */
  ask(method: Method, path: string, options?: ApiRequest): Promise<unknown>;
}

const userSchema = z.union([
  z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),
  z.object({ token: z.string() }),
]);
const kubeconfigSchema = z.object({ users: z.tuple([z.object({ user: userSchema })]) });

/** A client for whoever the kubeconfig names: the admin, or a ServiceAccount after `kubeconfigFor`. */
export function apiClient(address: ControlPlaneAddress): ApiClient {
  const [{ user }] = kubeconfigSchema.parse(parse(readFileSync(address.kubeconfig, 'utf8'))).users;
  const pem = (data: string) => Buffer.from(data, 'base64').toString('utf8');
  const identity =
    'token' in user ? {} : { cert: pem(user['client-certificate-data']), key: pem(user['client-key-data']) };
  const authorization = 'token' in user ? { authorization: `Bearer ${user.token}` } : {};
  const agent = new Agent({ connect: { ca: address.ca, ...identity }, connections: 32 });
  const send: ApiClient['send'] = async (method, path, options = {}) => {
    const contentType =
      options.contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
    const response = await request(address.url + path, {
      method,
      headers: { ...authorization, accept: 'application/json', 'content-type': contentType },
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: AbortSignal.timeout(options.timeoutMs ?? 30_000),
      dispatcher: agent,
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: asJson(text) };
  };
  return {
    send,
    ask: async (method, path, options) => {
      const { status, body } = await send(method, path, options);
      if (status >= 200 && status < 300) return body;
      throw new Error(`${method} ${path}: HTTP ${status}: ${messageOf(body)}`);
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function messageOf(body: unknown): string {
  const failure = z.object({ message: z.string() }).safeParse(body);
  return failure.success ? failure.data.message : JSON.stringify(body).slice(0, 500);
}
