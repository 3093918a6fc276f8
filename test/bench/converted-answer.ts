import type { BenchFormat, Caller } from './bench-requests.ts';
import type { Expected } from './load-connection.ts';

/** Formats that the gateway converts to chat for the bench's node. */
export const convertedFormats = ['messages', 'responses'] as const satisfies readonly BenchFormat[];

export type ConvertedFormat = (typeof convertedFormats)[number];

/** What a stream is made of. */
export type StreamKind = 'text' | 'arguments';

type Json = Readonly<Record<string, unknown>>;

/** The events that carry what the upstream's chunks carry: one for each chunk. */
const deltaEvents: Readonly<Record<ConvertedFormat, Readonly<Record<StreamKind, string>>>> = {
  messages: { text: 'content_block_delta', arguments: 'content_block_delta' },
  responses: { text: 'response.output_text.delta', arguments: 'response.function_call_arguments.delta' },
};

const lastEvents: Readonly<Record<ConvertedFormat, string>> = {
  messages: 'message_stop',
  responses: 'response.completed',
};

const patienceMilliseconds = 60_000;

/**
 * What each converted answer must look like, learnt from one that is read and checked in full: all later ones have as
 * many bytes, because ids and times have one length. Throws for a wrong answer.
 */
export async function expectPlain(
  caller: Caller,
  request: Buffer,
  format: ConvertedFormat,
): Promise<Expected> {
  const response = await ask(caller, request, format);
  const bytes = await response.bytes();
  const answer = JSON.parse(Buffer.from(bytes).toString()) as Json;
  const [said] = (format === 'messages' ? answer['content'] : contentOf(answer)) as { text: string }[];
  if (said?.text !== 'word '.repeat(100)) throw new Error(`wrong answer: ${JSON.stringify(answer)}`);
  return { bodyBytes: bytes.length };
}

/** The same for a stream whose deltas must add up to `whole`; `onDelta` is called at each. */
export async function expectStream(
  caller: Caller,
  request: Buffer,
  format: ConvertedFormat,
  { kind, whole, onDelta }: { kind: StreamKind; whole: string; onDelta: () => void },
): Promise<Expected> {
  const response = await ask(caller, request, format);
  const name = deltaEvents[format][kind];
  const decoder = new TextDecoder();
  const deltas: string[] = [];
  let [bodyBytes, rest, last] = [0, '', ''];
  for await (const bytes of response.body ?? []) {
    bodyBytes += bytes.length;
    const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const text of events) {
      if (text === 'data: [DONE]') continue;
      const event = JSON.parse(text.slice(text.indexOf('\ndata: ') + 7)) as Json;
      last = String(event['type']);
      if (last !== name) continue;
      deltas.push(format === 'messages' ? messagesDelta(event) : String(event['delta']));
      onDelta();
    }
  }
  if (deltas.join('') !== whole || last !== lastEvents[format]) {
    throw new Error(`wrong stream: ${deltas.length} deltas of ${deltas.join('').length}, then ${last}`);
  }
  return { bodyBytes, dataLines: deltas.length, marker: Buffer.from(`\nevent: ${name}\n`) };
}

async function ask(caller: Caller, request: Buffer, format: ConvertedFormat): Promise<Response> {
  const head = request.toString('latin1', 0, request.indexOf('\r\n\r\n'));
  const path = head.split(' ', 2)[1];
  const response = await fetch(`http://127.0.0.1:${caller.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
    body: new Uint8Array(request.subarray(head.length + 4)),
    signal: AbortSignal.timeout(patienceMilliseconds),
  });
  const conversion = response.headers.get('x-model-gateway-conversion');
  if (response.status === 200 && conversion === `${format}->chat`) return response;
  throw new Error(`${path}: ${response.status}, conversion ${conversion}: ${await response.text()}`);
}

function contentOf(answer: Json): unknown {
  return (answer['output'] as { content: unknown }[])[0]?.content;
}

function messagesDelta(event: Json): string {
  const { text, partial_json } = event['delta'] as { text?: string; partial_json?: string };
  return text ?? partial_json ?? '';
}
