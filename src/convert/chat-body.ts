import type { ReasoningPiece } from './chat-content.ts';
import type { ChatEvent } from './chat-event.ts';
import { parseChat } from './chat-json.ts';
import { type ChatAnswer, readChatReply } from './chat-reply.ts';
import { ChatStream } from './chat-stream.ts';
import type { JsonObject } from './json.ts';
import type { KeptPiece } from './kept-answer.ts';
import { UpstreamFault } from './upstream-fault.ts';
import type { UrlCitation } from './url-citations.ts';

const decoder = new TextDecoder('utf-8');
const openBrace = 0x7b;

/**
 * Reads the whole body of a chat answer: JSON, or the event stream that some nodes send to `stream: false`. The first
 * character decides which, not the content type. Throws an UpstreamFault if the body holds no valid answer.
 */
export function readChatBody(bytes: Uint8Array): ChatAnswer {
  // Nearly every answer begins like this, which can be seen without decoding.
  const head = bytes[0] === openBrace ? '{' : decoder.decode(bytes.subarray(0, 1024)).trimStart();
  if (head.startsWith('{') || head.startsWith('[') || head === '') {
    const json = decoder.decode(bytes);
    const body = parseChat(json);
    if (body === undefined)
      throw new UpstreamFault(head === '' ? 'empty' : 'malformed', 'The model server sent no JSON.');
    return readChatReply(body, json);
  }
  const stream = new ChatStream();
  return collectChatEvents([...stream.push(bytes), ...stream.end()], stream.unread);
}

/** The answer of a finished stream. Throws the stream's fault. */
function collectChatEvents(events: readonly ChatEvent[], unread: ReadonlySet<string>): ChatAnswer {
  const reasoning: ReasoningPiece[] = [];
  const calls: { id: string; name: string; pieces: string[]; extra: JsonObject | undefined }[] = [];
  const extras = new Map<number, JsonObject>();
  const kept: KeptPiece[] = [];
  const callNumbers = new Map<number, (typeof calls)[number]>();
  const texts: string[] = [];
  const refusals: string[] = [];
  const citations: UrlCitation[] = [];
  const logprobs: unknown[] = [];
  let thinking: string[] = [];
  const endThinking = (signature: string): void => {
    const text = thinking.join('');
    if (text !== '' || signature !== '') reasoning.push({ text, signature });
    thinking = [];
  };
  for (const event of events) {
    if (event.type === 'text') {
      texts.push(event.text);
      for (const entry of event.logprobs) logprobs.push(entry);
    } else if (event.type === 'reasoning') thinking.push(event.text);
    else if (event.type === 'signature') endThinking(event.signature);
    else if (event.type === 'refusal') refusals.push(event.text);
    else if (event.type === 'citation') citations.push(event.citation);
    else if (event.type === 'tool_start') {
      const call = { id: event.id, name: event.name, pieces: [], extra: undefined };
      callNumbers.set(event.call, call);
      calls.push(call);
    } else if (event.type === 'tool_arguments') callNumbers.get(event.call)?.pieces.push(event.text);
    else if (event.type === 'kept') {
      if ('call' in event.piece) extras.set(event.piece.call, event.piece.extra);
      else kept.push(event.piece);
    } else if (event.type === 'fault') throw event.fault;
    else {
      endThinking('');
      const { finish, stopString, usage, serviceTier } = event;
      for (const [number, call] of callNumbers) call.extra = extras.get(number);
      const toolCalls = calls.map(({ id, name, pieces, extra }) => ({
        id,
        name,
        arguments: pieces.join(''),
        extra,
      }));
      const text = texts.join('');
      const refusal = refusals.join('');
      return {
        reasoning,
        text,
        refusal,
        toolCalls,
        citations,
        logprobs,
        finish,
        stopString,
        usage,
        serviceTier,
        kept,
        unread,
      };
    }
  }
  throw new UpstreamFault('truncated', 'The model server ended its answer before it was complete.');
}
