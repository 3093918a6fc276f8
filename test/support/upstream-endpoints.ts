import type { Exchange } from './upstream-exchange.ts';
import { type JsonObject, jsonBody } from './upstream-request-body.ts';
import { pause, sendJson, sendTyped, startEvents, write } from './upstream-sending.ts';

/** What an endpoint was asked: the fields of a JSON body, or those of a form and the sizes of its files. */
export interface Asked {
  readonly fields: JsonObject;
  readonly files: Readonly<Record<string, number>>;
}

/** Reads a body as model servers do, by a parser of its own; undefined if it is neither JSON nor a form. */
export async function askedOf({ request }: Exchange): Promise<Asked | undefined> {
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) {
    const fields = jsonBody(request);
    return fields === undefined ? undefined : { fields, files: {} };
  }
  const body = new Uint8Array(request.body);
  const form = await new Response(body, { headers: { 'content-type': type } })
    .formData()
    .catch(() => undefined);
  if (form === undefined) return undefined;
  const all = [...form];
  return {
    fields: Object.fromEntries(all.filter(([, value]) => typeof value === 'string')),
    files: Object.fromEntries(
      all.flatMap(([name, value]) => (typeof value === 'string' ? [] : [[name, value.size]])),
    ),
  };
}

const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const picture = Buffer.alloc(100_000, 0x89).toString('base64');

type Answer = (exchange: Exchange, asked: Asked) => Promise<void> | void;

/** Answers as OpenAI, vLLM and Jina do. */
export const endpointAnswers: Readonly<Record<string, Answer>> = {
  '/rerank': (exchange, { fields }) => {
    const documents: unknown[] = Array.isArray(fields['documents']) ? fields['documents'] : [];
    const results = documents.map((_, index) => ({ index, relevance_score: 1 / (index + 1) }));
    sendJson(exchange, 200, { id: 'rerank-1', model: fields['model'], results, usage: { total_tokens: 9 } });
  },
  '/moderations': (exchange, { fields }) => {
    const results = [{ flagged: false, categories: {}, category_scores: {} }];
    sendJson(exchange, 200, { id: 'modr-1', model: fields['model'], results });
  },
  '/images/generations': (exchange, asked) => images(exchange, asked, 'image_generation'),
  '/images/edits': (exchange, asked) => images(exchange, asked, 'image_edit'),
  '/audio/speech': async (exchange, { fields }) => {
    if (fields['stream_format'] === 'sse') {
      startEvents(exchange);
      await sendTyped(exchange, 'speech.audio.delta', { audio: 'AAAA' });
      await sendTyped(exchange, 'speech.audio.done', { usage });
      exchange.response.end();
      return;
    }
    exchange.response.writeHead(200, {
      'content-type': 'audio/mpeg',
      'content-disposition': 'attachment; filename="speech.mp3"',
    });
    for (let index = 0; index < exchange.answers.chunks; index++) {
      await pause(exchange, exchange.answers.chunkDelayMilliseconds);
      await write(exchange, Buffer.alloc(1000, index));
    }
    exchange.response.end();
  },
  '/audio/transcriptions': transcribe,
  '/audio/translations': transcribe,
};

async function images(exchange: Exchange, { fields }: Asked, kind: string): Promise<void> {
  if (String(fields['stream']) !== 'true') {
    sendJson(exchange, 200, { created: 1, data: [{ b64_json: picture }], usage });
    return;
  }
  startEvents(exchange);
  await sendTyped(exchange, `${kind}.partial_image`, { b64_json: picture, partial_image_index: 0 });
  await sendTyped(exchange, `${kind}.completed`, { b64_json: picture, usage });
  exchange.response.end();
}

async function transcribe(exchange: Exchange, { fields, files }: Asked): Promise<void> {
  const text = `${files['file']} bytes`;
  if (String(fields['stream']) === 'true') {
    startEvents(exchange);
    await sendTyped(exchange, 'transcript.text.delta', { delta: text });
    await sendTyped(exchange, 'transcript.text.done', { text, usage });
    exchange.response.end();
  } else if (fields['response_format'] === 'text') {
    exchange.response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
  } else sendJson(exchange, 200, { text, usage: { type: 'tokens', ...usage } });
}
