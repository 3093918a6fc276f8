// A server of one tool for the agents to find, in the Model Context Protocol on standard input and output.
import { createInterface } from 'node:readline';

interface Request {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const tool = {
  name: 'double',
  description: 'Doubles a number.',
  inputSchema: { type: 'object', properties: { number: { type: 'number' } }, required: ['number'] },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as Request;
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answerTo(method, params) }));
}

function answerTo(method: string | undefined, params: Request['params']): unknown {
  if (method === 'initialize')
    return {
      protocolVersion: params?.['protocolVersion'],
      capabilities: { tools: {} },
      serverInfo: { name: 'numbers', version: '1.0.0' },
    };
  if (method === 'tools/list') return { tools: [tool] };
  if (method !== 'tools/call') return {};
  const { number = 0 } = (params?.['arguments'] ?? {}) as { number?: number };
  return { content: [{ type: 'text', text: `twice is ${2 * number}` }] };
}
