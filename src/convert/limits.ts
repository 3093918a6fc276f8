/** Bounds of the conversion. Each stops a hostile or broken peer; ordinary traffic reaches none. */
export const limits = {
  /** Bytes of one event of an upstream's stream. A whole image or file may come in one event. */
  sseEvent: 16 * 1024 * 1024,
  /** Characters of an upstream answer that has to be read whole. */
  body: 64 * 1024 * 1024,
  /** Tool calls in one answer. */
  toolCalls: 1_024,
  /** Characters of all tool arguments of one answer. */
  toolArguments: 16 * 1024 * 1024,
  /** Characters of text that a stream may hold back until an open tool call is complete. */
  heldText: 4 * 1024 * 1024,
  /** Characters of one streamed answer that its last event has to repeat; an item counts 1,000, a log probability 500. */
  answerWeight: 64 * 1024 * 1024,
  /** Characters of JSON that response objects repeat of their request: a stream writes them three times, for all callers' event loop. */
  echo: 256 * 1024,
  /** Characters of one repeated member if all of them are more than `echo`. */
  echoedMember: 8 * 1024,
  /** Characters of all prompts that completions repeat (`echo`). */
  echoedPrompts: 1024 * 1024,
  /** Levels of nesting in what is passed on without being read: schemas, tool inputs, tool arguments. */
  nesting: 200,
  /** Messages or input items of one request. */
  items: 100_000,
  /** Content parts of one message. */
  parts: 100_000,
  /** Tools of one request. */
  tools: 4_096,
  /** Characters of JSON of what a node signs or encrypts and its caller carries to the next request. */
  keptSignatures: 2 * 1024 * 1024,
  /** Characters of an error message that reach the caller. */
  errorMessage: 2_000,
  /** Paths named in `x-model-gateway-dropped`. */
  droppedPaths: 24,
} as const;
