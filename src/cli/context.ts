import type { ReadStream } from 'node:tty';
import type { Clock } from '../kube/clock.ts';
import type { Declarations } from './edit/declarations.ts';
import type { PlaceFlags } from './place.ts';

/** What commands get besides their arguments. */
export interface CommandContext {
  /** The name that the program was called by, for messages: `model-gateway` or `kubectl modelgateway`. */
  readonly calledAs: string;
  /** The resources of the cluster or folder that the flags name. Nothing is read before a method is called. */
  declarations(flags: PlaceFlags): Promise<Declarations>;
  /** For data and nothing else. */
  readonly out: TextSink;
  /** For messages, questions and progress. */
  readonly err: TextSink;
  readonly stdin: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface TextSink {
  write(text: string): unknown;
}
