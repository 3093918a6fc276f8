import type { MessagesStop } from './messages-stop.ts';

/** What an answer has said when its message is written. */
interface MessageSaid {
  /** The list of blocks, as JSON text. */
  readonly content: string;
  /** Undefined: the answer has only begun. */
  readonly stop: MessagesStop | undefined;
  /** JSON text (messages-usage.ts). */
  readonly usage: string;
}

/**
 * A message with every member that the types require (messages.md), as JSON text: `JSON.stringify` of an object with so
 * many members took as long as the rest of the reply's conversion. Clients check the prefix of the id when they send it
 * back.
 */
export function messageJson(id: string, model: string, { content, stop, usage }: MessageSaid): string {
  return (
    `{"id":"${id}","type":"message","role":"assistant","model":${JSON.stringify(model)}` +
    `,"content":${content}` +
    `,"container":null,"context_management":null,"diagnostics":null` +
    `,${stop === undefined ? unstopped : stopMembers(stop)},"usage":${usage}}`
  );
}

const unstopped = '"stop_reason":null,"stop_sequence":null,"stop_details":null';

function stopMembers({ stop_reason, stop_sequence, stop_details }: MessagesStop): string {
  return (
    `"stop_reason":"${stop_reason}"` +
    `,"stop_sequence":${stop_sequence === null ? 'null' : JSON.stringify(stop_sequence)}` +
    `,"stop_details":${stop_details === null ? 'null' : JSON.stringify(stop_details)}`
  );
}
