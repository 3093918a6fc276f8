import { type Reasons, reasonIn, unneededIn } from './reasons.ts';

/** Members of answers that rightly make no difference, each with its reason. */
const members: Reasons = [
  [
    'the reply has its own identity, the time of its making, and the model by the name that the caller used',
    '* ChatCompletion*.id',
    '* ChatCompletion*.created',
    '* ChatCompletion*.model',
    '* *ChatCompletion*.object=*',
    '* VendorChatCompletion*.x_groq.id',
  ],
  ['padding', '* ChatCompletionChunk.obfuscation'],
  ['what was said tells it', '* *Choice.finish_reason=*'],
  ['a stop string counts only where the request has it', '* *Choice.stop_reason'],
  ['one answer is asked for; others are not read', '* ChatCompletionChunk.Choice.index'],
  ['a call without a name and arguments says nothing', '* *.tool_calls[]'],
  ['says which pieces belong together', '* *.ToolCall.index', '* VendorMessage.content.closed=true'],
  ['the default', 'responses *.service_tier=default'],
  ['what the cache did not have is the rest of the prompt', '* VendorUsage.prompt_cache_miss_tokens'],
  ['a stream without usage of its own gets the same counts', '* *ChatCompletionChunk.usage'],
];

/** What the types require and the vendors themselves do not send, or not so. */
const types: Reasons = [
  ['made by the SDK out of the items', '*response*.output_text is absent (Response)'],
  ['null until the response is done, as Open Responses requires it', 'response.*.response.usage is null'],
  ['null until the choice ends, and until the last chunk, as the vendor sends it', 'chunk.* is null'],
  ['a tier that the previous version does not know', '*.service_tier is "fast"'],
];

export const replyReasonFor = (doubt: string): string | undefined => reasonIn(members, doubt);
export const typeReasonFor = (fault: string): string | undefined => reasonIn(types, fault);

/** The entries that nothing needs any more. */
export function unneededReply(doubts: readonly string[]): readonly string[] {
  return unneededIn([...members, ...types], doubts);
}
