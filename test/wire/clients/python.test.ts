import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatOnly, startChatOnly } from './chat-only.ts';
import { findPython, runScenarios } from './python-packages.ts';
import { greeting } from './scripted-models.ts';

const python = await findPython();
const why = 'missing' in python ? ` (skipped: ${python.missing})` : '';
if (why !== '') console.error(`clients: the Python packages are not tried${why}`);

const place = { city: 'Oslo', days: [1, 2] };
const errors = ['RateLimitError 429', 'InternalServerError 500', 'BadRequestError 400', 'NotFoundError 404'];

const openai: Record<string, unknown> = {
  ...both({
    text: [greeting, 'completed', 20, 8],
    calls: [
      ['weather {"city":"Oslo"}', 'now {}', 'weather {"city":"Rome"}'],
      'Results: weather ok | now ok | weather ok',
    ],
    reasoning: ['reasoning', 'First this, then that.'],
    image: 'text data:image/png;base64,iVBORw0K',
    refusal: 'I will not.',
    errors,
  }),
  cut: ['max_output_tokens', 'response.incomplete'],
  broken: expect.stringContaining('closed before'),
  unauthorized: 'AuthenticationError',
  retries: ['Free again.', 'Up again.'],
  parsed: [place, place],
  left: 'w0 ',
  completions: [[greeting, greeting], greeting],
  chat: [greeting, greeting, place],
  models: true,
};

const anthropic: Record<string, unknown> = {
  ...both({
    text: [greeting, 'end_turn', 15, 8],
    calls: [
      [
        ['weather', { city: 'Oslo' }],
        ['now', {}],
        ['weather', { city: 'Rome' }],
      ],
      'Results: weather ok | now ok | weather ok',
    ],
    thinking: ['thinking', 'First this, then that.'],
    image: 'data:image/png;base64,iVBORw0K text',
    refusal: ['refusal', 'I will not.'],
    cut: 'max_tokens',
    errors,
  }),
  broken: expect.stringContaining('closed before'),
  unauthorized: 'AuthenticationError',
  retries: ['Free again.', 'Up again.'],
  parsed: place,
  runner: ['Results: Oslo ok | noon | Rome ok', 'Results: Oslo ok | noon | Rome ok'],
  left: 'w0 ',
  counted: true,
  models: true,
};

function both(seen: Record<string, unknown>): Record<string, unknown> {
  const named = (way: string) => Object.entries(seen).map(([name, value]) => [`${name}, ${way}`, value]);
  return Object.fromEntries([...named('plain'), ...named('streamed')]);
}

describe.skipIf('missing' in python).each([
  ['openai', 'openai_client.py', openai],
  ['anthropic', 'anthropic_client.py', anthropic],
])(`%s for Python${why}`, (name, script, wanted) => {
  let stage: ChatOnly;
  let seen: Readonly<Record<string, unknown>>;

  beforeAll(async () => {
    stage = await startChatOnly();
    const { baseURL, origin, key } = stage.gateway;
    seen = await runScenarios(python, script, { baseURL: name === 'openai' ? baseURL : origin, key });
  });
  afterAll(() => stage.close());

  test.each(Object.keys(wanted))('%s', (scenario) => {
    expect(seen[scenario]).toEqual(wanted[scenario]);
  });

  test('has no other scenario, and its leaving a stream ends the request at the node', () => {
    expect(Object.keys(seen).sort()).toEqual(Object.keys(wanted).sort());
    const lingering = stage.node.requests.filter(({ body }) => body.toString().includes('"lingers"'));
    expect(lingering.map(({ clientGoneTime }) => clientGoneTime !== undefined)).toEqual([true]);
  });
});
