import { ConversionError } from './conversion-error.ts';
import type { Fields } from './fields.ts';

/**
 * Refuses a conversation that the server is to hold (`thread`, beta message-threads-2026-08-12) with the codes on which
 * Anthropic's SDKs send the whole conversation instead. If the field were dropped, the model would get an agent's turn
 * without the conversation before it.
 */
export function refuseThread(request: Fields): void {
  const kind = request.kind('thread');
  if (kind === 'absent') return;
  if (kind === 'object' && request.neededObject('thread').text('type') === 'continue')
    throw new ConversionError({
      status: 404,
      code: 'previous_message_not_found',
      param: 'thread.previous_message_id',
      reason: 'No conversation is held here; send the whole conversation',
      errorCode: 'thread_not_found',
    });
  throw new ConversionError({
    code: 'unsupported_parameter',
    param: 'thread',
    reason: 'The model server holds no conversations; send the whole conversation without this field',
    errorCode: 'thread_unsupported_request',
  });
}
