import { type Reasons, reasonIn, unneededIn } from './reasons.ts';

/** Fields that are rightly neither in the chat request as they were sent nor named, each with its reason; `*` is any text. */
const reviewed: Reasons = [
  ['the node is sent its own name of the model', '* *.model'],
  [
    'false is the default: it asks for nothing',
    '* same *.stream=false',
    'responses same *.store=false',
    'responses same *.background=false',
    '* same *.strict=false',
    '* same *.async=false',
    '* same *.defer_loading=false',
    'messages same *.eager_input_streaming=false',
    'messages same *.is_error=false',
    'messages same *.disable_parallel_tool_use=false',
    'completions same *.echo=false',
    'responses changed FunctionTool.strict=false',
  ],
  ['the text begins with Error:', 'messages changed ToolResultBlockParam.is_error=true'],
  ['the only one that there is', 'messages same PlainTextSource.media_type=text/plain'],
  [
    'adaptive leaves thinking to the model, as a request without it does',
    'messages same *.thinking<adaptive>',
  ],
  [
    'the default: what is done anyway',
    '* same *.allowed_callers[]=direct',
    '* same *.caller<direct>',
    'responses same *.detail=auto',
    'messages same ImageTransformationsParam.oversized_image=downsize',
    'messages same CitationsConfigParam.enabled=false',
    'messages same *.clear_at=never',
  ],
  ['left out once the user has said more', 'messages changed *.clear_at=next_user_message'],
  ['stands in the description of the tool', 'messages changed *.max_characters'],
  [
    'without tools nothing can be chosen',
    'messages same *.tool_choice<auto>',
    'messages same *.tool_choice<none>',
    'messages same ToolChoice*.disable_parallel_tool_use=true',
    'responses same *.tool_choice=auto',
    'responses same *.tool_choice=none',
    'responses same *.parallel_tool_calls=*',
    'responses same ToolChoiceAllowed.mode=auto',
  ],
  ['parallel_tool_calls: false', 'messages changed ToolChoice*.disable_parallel_tool_use=true'],
  [
    'asks for log probabilities, or for parts of items that no conversion makes (responses.md)',
    'responses * *.include[]=*',
  ],
  [
    'decides the shape of the reply, not the request',
    'responses same *Reasoning.summary=*',
    'responses same *Reasoning.generate_summary=*',
    'responses same *.metadata.*',
    'responses same *.include_obfuscation=*',
    'completions same *.include_obfuscation=*',
    'completions same *.include_usage=*',
    'completions same *.echo=true',
  ],
  ['asks for as many answers', 'completions changed *.n'],
  [
    'the default',
    'responses same *.truncation=disabled',
    'responses same *.format<text>',
    'responses same ResponseTextConfig.verbosity=medium',
  ],
  ['a reasoning text without text', 'responses same ResponseReasoningItem.content[]<reasoning_text>'],
  ['the call that it answers says so', 'responses same *FunctionCallOutput.name*'],
  [
    'a search that the caller runs needs a call_id',
    'responses astray ResponseInputItem.ToolSearchCall.execution=client',
  ],
  [
    'names an item of an earlier response, and how far it was; nothing is stored here that it could name',
    'responses same *.id',
    'responses same *.status=*',
  ],
  [
    'the search is a function here, which the caller runs',
    'responses changed ToolSearchTool.execution=client',
    'responses changed ResponseToolSearchOutputItemParam.execution=client',
  ],
];

/** Why a field rightly changes nothing in the chat request, or something else than its own value. */
export function reasonFor(doubt: string): string | undefined {
  return reasonIn(reviewed, doubt);
}

/** The entries that no field of the SDKs needs any more. */
export function unneeded(doubts: readonly string[]): readonly string[] {
  return unneededIn(reviewed, doubts);
}
