import { dialectOf } from '../routing/candidate-dialect.ts';
import { cardOf } from '../store/model-card.ts';
import type { Candidate } from '../store/store.ts';

/**
 * What Codex CLI reads of a model in the answer to `GET /models?client_version=…`. Codex (0.169.0) refuses the whole answer if one of
 * these members is missing in one model.
 */
export interface CodexModel {
  readonly slug: string;
  readonly display_name: string;
  readonly context_window: number;
  readonly supported_reasoning_levels: readonly { readonly effort: string; readonly description: string }[];
  readonly input_modalities?: readonly string[];
  /** Without it Codex does not offer its patch tool. */
  readonly apply_patch_tool_type?: 'freeform';
  readonly shell_type: 'shell_command';
  readonly visibility: 'list';
  readonly supported_in_api: true;
  readonly priority: number;
  readonly support_verbosity: false;
  readonly supports_parallel_tool_calls: boolean;
  readonly truncation_policy: { readonly mode: 'tokens'; readonly limit: number };
  readonly experimental_supported_tools: readonly string[];
  readonly base_instructions: string;
}

/**
 * A model for Codex; undefined if its window is not known, because nothing is guessed: Codex then uses its own defaults for models
 * that it does not know.
 */
export function codexModel(name: string, candidates: readonly Candidate[]): CodexModel | undefined {
  const { displayName = name, contextTokens, input, tools = true } = cardOf(candidates);
  if (contextTokens === undefined) return undefined;
  const dialects = candidates.map(dialectOf);
  const [{ reasoningEfforts } = { reasoningEfforts: [] }] = dialects;
  const efforts = reasoningEfforts.filter((effort) =>
    dialects.every((dialect) => dialect.reasoningEfforts.includes(effort)),
  );
  return {
    slug: name,
    display_name: displayName,
    context_window: contextTokens,
    supported_reasoning_levels: efforts.map((effort) => ({ effort, description: effort })),
    ...(input === undefined ? {} : { input_modalities: input.flatMap((kind) => modalities[kind] ?? []) }),
    ...(tools ? { apply_patch_tool_type: 'freeform' } : {}),
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: 1,
    support_verbosity: false,
    supports_parallel_tool_calls: dialects.every(({ parallelToolCalls }) => parallelToolCalls),
    truncation_policy: { mode: 'tokens', limit: longestToolOutput },
    experimental_supported_tools: [],
    base_instructions: instructions,
  };
}

/** Files are left out: Codex has no value for them, and refuses the whole answer because of an unknown value. */
const modalities: Readonly<Record<string, string>> = { Text: 'text', Image: 'image', Audio: 'audio' };

/** Tokens of one tool's output that Codex keeps; its default for models that it does not know. */
const longestToolOutput = 10_000;

/** Codex has no instructions of its own for a model of a list, and takes these for its system prompt. */
const instructions = `You are a coding agent in Codex CLI, a terminal program. You and the user share a workspace. Work on the user's task until it is done, and report only what you have seen to be true.

Before you change code, read it: search with rg if it is there, and follow the style and the structure that you find. Instructions in AGENTS.md files apply to everything below their folder; the deepest one wins, and what the user says directly wins over all.

Change files with the apply_patch tool. Make the smallest change that solves the task at its cause. Do not fix unrelated faults, but name them. Never revert changes that you did not make, and do not commit or create branches unless the user asks for it.

Run the tests or the program to see that a change works. If something fails, find out why before you try again. If the sandbox refuses a command that the task needs, ask for permission as the tool allows.

For work of several steps keep a short plan, and say in one or two sentences what you are about to do before you use tools. End with a short answer: what you changed and where, how you checked it, and what is left. Name files by their paths.
`;
