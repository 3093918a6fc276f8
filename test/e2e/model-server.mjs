// A model server for the end-to-end tests, run by the image's own Node.js. It answers with the end of the credential that
// it was sent, and takes its time over streams (those of `slow` last 40 s), so that pods stop in the middle of some.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const piece = (delta, finish = null) => ({
  id: 'chatcmpl-e2e',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

createServer(async (request, response) => {
  if (request.url === '/v1/models') {
    response.setHeader('content-type', 'application/json');
    return response.end(
      JSON.stringify({ object: 'list', data: ['m', 'slow'].map((id) => ({ id, object: 'model' })) }),
    );
  }
  let body = '';
  for await (const bytes of request) body += bytes;
  const content = (request.headers.authorization ?? '').slice(-3);
  const { stream, model } = JSON.parse(body);
  if (stream !== true) {
    response.setHeader('content-type', 'application/json');
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    return response.end(JSON.stringify({ ...piece({}), object: 'chat.completion', choices }));
  }
  response.setHeader('content-type', 'text/event-stream');
  for (let i = 0; i < (model === 'slow' ? 400 : 20); i++) {
    response.write(`data: ${JSON.stringify(piece({ content }))}\n\n`);
    await delay(100);
  }
  response.end(`data: ${JSON.stringify(piece({}, 'stop'))}\n\ndata: [DONE]\n\n`);
}).listen(8000);
