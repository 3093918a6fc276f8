import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentName } from '../../src/cli/agent/agent-settings.ts';
import type { Play } from './model-server.ts';
import type { Exchange } from './tap.ts';

/** Where an agent works, alone. */
export interface Place {
  /** The folder of its task. */
  readonly work: string;
  /** Its home folder. */
  readonly home: string;
  /** The gateway's key. */
  readonly key: () => string;
}

/** A task that an agent is to finish, with the model's part in it. */
export interface AgentTask {
  readonly name: string;
  /** Whose settings `model-gateway agent` writes. */
  readonly agent: AgentName;
  /** Path below `/v1` that all its model requests take. */
  readonly path: '/responses' | '/messages' | '/chat/completions';
  /** The model's name, as the agent knows it. */
  readonly model: string;
  /** What the manifest says about the node's model. */
  readonly card?: Readonly<Record<string, unknown>>;
  /** Files of the folder, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** The agent's program, and what comes before all other arguments. */
  readonly program: readonly string[];
  /** Whether the agent offers no tools to the model, and takes its text. */
  readonly withoutTools?: true;
  /** Whether it asks other addresses even with the settings here. In its network namespace it gets no answer. */
  readonly asksElsewhere?: true;
  /** Answers the arguments, without the prompt, and the environment besides `HOME` and `PATH`. */
  readonly prepare: (
    place: Place,
  ) => Promise<{ args: readonly string[]; env: Readonly<Record<string, string>> }>;
  readonly play: (place: Place) => Play;
  /** How often the node breaks a stream. */
  readonly breaks: number;
  /** `conversion` of the key. */
  readonly conversion: 'Lossy' | 'Strict';
  /** What conversion leaves out, as paths with every number as `N`; other paths fail the task. */
  readonly dropped: readonly string[];
  /** What its answer and its folder must be, a step each. */
  readonly checks: Readonly<Record<string, (done: Done) => unknown>>;
}

/** What an agent has done. */
export interface Done {
  readonly place: Place;
  readonly stdout: string;
  readonly stderr: string;
  readonly exchanges: readonly Exchange[];
}

export const prompt = 'Say goodbye in greeting.txt in place of hello, check it and tell me what it says now.';

/** What an agent is told to write that is hard to quote. */
export const goodbye = 'Goodbye, “wörld” 👋 and "\\n"';

/** A check of a task: the file of its folder is exactly this. */
export function fileIs(name: string, wanted: string): (done: Done) => Promise<void> {
  return async ({ place }) => mustBe(await readFile(join(place.work, name), 'utf8'), wanted, name);
}

/** Throws with what was found in place of what was wanted. */
export function mustBe(found: unknown, wanted: unknown, what: string): void {
  if (found !== wanted) throw new Error(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}

export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
