import { startUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

/** Answers every request well, whatever it holds: an error is never its doing. */
export async function answeringUpstream() {
  const upstream = await startUpstream({ keepRequests: false });
  const answer: Behaviour = {
    kind: 'run',
    run: ({ request, response }) => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
      const streams = /"stream"\s*:\s*true/.test(request.body.toString('latin1'));
      if (request.path.endsWith('/embeddings')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      } else if (streams) {
        const delta = [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }];
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${JSON.stringify({ choices: delta })}\n\ndata: [DONE]\n\n`);
      } else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices }));
      }
    },
  };
  upstream.respondWith('*', () => answer);
  return { url: upstream.url, [Symbol.asyncDispose]: upstream.stop };
}
