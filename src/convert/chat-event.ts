import type { ChatUsage } from './chat-usage.ts';
import type { Finish } from './finish-reason.ts';
import type { Progress } from './json-progress.ts';
import type { KeptPiece } from './kept-answer.ts';
import type { UpstreamFault } from './upstream-fault.ts';
import type { UrlCitation } from './url-citations.ts';

/** How a stream ended in order. */
export interface StreamEnd {
  readonly type: 'end';
  readonly finish: Exclude<Finish, 'failed'>;
  readonly stopString: string | undefined;
  readonly usage: ChatUsage;
  readonly serviceTier: string | undefined;
}

/**
 * One event of a chat stream, in any dialect. Texts are never ''. A call starts once, with its name, before its arguments;
 * its arguments end when they form a complete JSON object, or with the stream. What is kept of a call may come before its
 * start. Nothing follows `end` or `fault`, and one of the two always comes.
 */
export type ChatEvent =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly unknown[] }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'signature'; readonly signature: string }
  | { readonly type: 'refusal'; readonly text: string }
  | { readonly type: 'citation'; readonly citation: UrlCitation }
  | { readonly type: 'kept'; readonly piece: KeptPiece }
  | ToolStart
  | ToolArguments
  | StreamEnd
  | { readonly type: 'fault'; readonly fault: UpstreamFault };

/** A tool call begins. `call` counts from 0; `id` is the node's and may be ''. */
export interface ToolStart {
  readonly type: 'tool_start';
  readonly call: number;
  readonly id: string;
  readonly name: string;
}

/** A piece of a call's arguments; `progress` is the state of the arguments so far. Nothing comes after `complete`. */
export interface ToolArguments {
  readonly type: 'tool_arguments';
  readonly call: number;
  readonly text: string;
  readonly progress: Progress;
}
