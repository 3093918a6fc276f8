import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AnswerFormat, sampleAnswers, sampleStreams } from './sample-answers.ts';
import { mark, type NodeAnswer } from './type-traffic.ts';

/** A model server that answers each request as its case says, and well where it says nothing. */
export interface TypeNode extends AsyncDisposable {
  /** With `/v1`. */
  readonly url: string;
  /** What the request with this text in its body is answered with, until `forget`. */
  answer(id: string, answer: NodeAnswer): void;
  forget(id: string): void;
}

const idPattern = new RegExp(`${mark}-\\d+-`);

export async function startTypeNode(): Promise<TypeNode> {
  const answers = new Map<string, NodeAnswer>();
  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('latin1');
      const id = idPattern.exec(body)?.[0];
      const answer = (id === undefined ? undefined : answers.get(id)) ?? soundAnswer(request.url ?? '', body);
      response.writeHead(answer.status, { 'content-type': answer.type });
      write(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    answer: (id, answer) => void answers.set(id, answer),
    forget: (id) => void answers.delete(id),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Streams come in two pieces, cut anywhere. */
function write(response: ServerResponse, { type, body }: NodeAnswer): void {
  if (type === 'application/json') return void response.end(body);
  const place = Math.floor(body.length / 3);
  response.write(body.slice(0, place));
  setImmediate(() => response.end(body.slice(place)));
}

function soundAnswer(url: string, body: string): NodeAnswer {
  const format = formatOf(url);
  const json = 'application/json';
  if (format === 'tokenize') return { status: 200, type: json, body: '{"count":7}' };
  if (format === 'count') return { status: 200, type: json, body: '{"input_tokens":7}' };
  if (format === 'embeddings' || !/"stream"\s*:\s*true/.test(body)) {
    return { status: 200, type: json, body: JSON.stringify(sampleAnswers[format][0]) };
  }
  const events = sampleStreams[format].map(
    ({ name, data }) => `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
  return { status: 200, type: 'text/event-stream', body: `${events.join('')}data: [DONE]\n\n` };
}

function formatOf(url: string): AnswerFormat | 'embeddings' | 'tokenize' | 'count' {
  if (url.endsWith('/chat/completions')) return 'chat';
  if (url.endsWith('/completions')) return 'completions';
  if (url.endsWith('/messages')) return 'messages';
  if (url.endsWith('/responses')) return 'responses';
  if (url.endsWith('/embeddings')) return 'embeddings';
  return url.endsWith('/tokenize') ? 'tokenize' : 'count';
}
