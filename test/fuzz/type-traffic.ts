import { confusedDocuments } from './confused-documents.ts';
import {
  type AnswerFormat,
  sampleAnswers,
  sampleEndpointEvents,
  sampleErrorBodies,
  sampleErrorEvents,
  sampleStreams,
  sampleTokenCounts,
} from './sample-answers.ts';
import { sampleRequests } from './sample-requests.ts';
import { typeCases } from './type-cases.ts';

/** One request to the gateway, and what the node answers to it; a node that is given nothing answers well. */
export interface TrafficCase {
  readonly path: string;
  readonly model: string;
  readonly body: string;
  readonly answer: NodeAnswer | undefined;
  /** Whether the gateway wrote every byte of the body of a 200 itself: then it is whole and right, whatever the node sent. */
  readonly converted: boolean;
  /** The text with the confused member. */
  readonly confused: string;
}

export interface NodeAnswer {
  readonly status: number;
  readonly type: 'application/json' | 'text/event-stream';
  readonly body: string;
}

/** Cases of one kind; a node that names `chat` speaks chat-completions alone, `native` every format. */
export interface Traffic {
  readonly name: string;
  /** How much of the cases it gets. */
  readonly share: number;
  cases(count: number, seed: number): Generator<TrafficCase>;
}

const paths: Readonly<Record<AnswerFormat, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const formats = Object.keys(paths) as AnswerFormat[];

/** Replaced by a text of its own in each request, by which the node knows its case. */
export const mark = 'CASE';

function asked(format: AnswerFormat, model: string, stream: boolean): string {
  const said = [{ role: 'user', content: mark }];
  const bodies = {
    chat: { messages: said },
    completions: { prompt: mark },
    messages: { messages: said, max_tokens: 9 },
    responses: { input: said, store: false },
  };
  return JSON.stringify({ model, ...bodies[format], ...(stream ? { stream } : {}) });
}

/** Each format as the node speaks it, and chat-completions for callers of the other three. */
const ways = [
  ...formats.map((format) => ({ format, spoken: format, model: 'native' })),
  ...formats.slice(1).map((format) => ({ format, spoken: 'chat' as const, model: 'chat' })),
];

const plain: readonly Traffic[] = ways.map(({ format, spoken, model }) => ({
  name: `plain answers to ${format} from a ${model} node`,
  share: 2,
  *cases(count, seed) {
    const documents = [...sampleAnswers[spoken], ...sampleErrorBodies.slice(0, 2)];
    for (const confused of typeCases(confusedDocuments(documents), count, seed)) {
      const answer = { status: 200, type: 'application/json', body: confused } as const;
      const request = { path: paths[format], model, body: asked(format, model, false) };
      yield { ...request, answer, converted: model === 'chat', confused };
    }
  },
}));

const refused: readonly Traffic[] = ways.map(({ format, model }) => ({
  name: `errors to ${format} from a ${model} node`,
  share: 1,
  *cases(count, seed) {
    const statuses = [400, 404, 413, 422, 429, 500, 503, 529];
    let number = 0;
    for (const confused of typeCases(confusedDocuments(sampleErrorBodies), count, seed)) {
      number += 1;
      const status = statuses[number % statuses.length] ?? 400;
      const answer = { status, type: 'application/json', body: confused } as const;
      const request = { path: paths[format], model, body: asked(format, model, number % 2 === 0) };
      yield { ...request, answer, converted: false, confused };
    }
  },
}));

const streamed: readonly Traffic[] = ways.map(({ format, spoken, model }) => ({
  name: `streams to ${format} from a ${model} node`,
  share: 4,
  *cases(count, seed) {
    const named = [...sampleStreams[spoken], ...sampleErrorEvents[spoken]];
    const sound = sampleStreams[spoken].map(({ name, data }) => eventText(name, JSON.stringify(data)));
    const each = named.map(({ name, data }, at) => ({ name, at, documents: confusedDocuments([data]) }));
    let number = 0;
    // Each event in its place, first, in the middle and last; another one each time, so that a short run meets all.
    const rounds = each.map(({ documents }, index) =>
      typeCases(documents, Math.ceil(count / each.length), seed + index),
    );
    while (number < count) {
      for (const [index, texts] of rounds.entries()) {
        const { value: confused } = texts.next();
        const event = each[index];
        if (confused === undefined || event === undefined || number >= count) continue;
        number += 1;
        // An error before all others is answered by an HTTP error, which none of the others is.
        const own = event.at < sound.length ? event.at : 0;
        const places = [own, 0, Math.floor(sound.length / 2), sound.length];
        const place = places[Math.floor(number / each.length) % places.length] ?? 0;
        const events = [...sound];
        // In its own place it stands for the sound one, if there is a sound one.
        const replaced = place === event.at ? 1 : 0;
        events.splice(place, replaced, eventText(event.name, confused));
        const end = spoken === 'chat' || spoken === 'completions' ? 'data: [DONE]\n\n' : '';
        const answer = { status: 200, type: 'text/event-stream', body: events.join('') + end } as const;
        const request = { path: paths[format], model, body: asked(format, model, true) };
        yield { ...request, answer, converted: model === 'chat', confused };
      }
    }
  },
}));

function eventText(name: string | undefined, data: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`;
}

const callers: readonly Traffic[] = Object.entries(sampleRequests).flatMap(([path, bodies]) =>
  (path === '/v1/keys' ? ['none'] : ['native', 'chat']).map((model) => ({
    name: `bodies of ${path} for a ${model} node`,
    share: path === '/v1/keys' ? 0.2 : 1.5,
    *cases(count: number, seed: number) {
      const documents = bodies.map((body) => (path === '/v1/keys' ? body : { ...body, model }));
      for (const confused of typeCases(confusedDocuments(documents), count, seed)) {
        yield { path, model, body: confused, answer: undefined, converted: false, confused };
      }
    },
  })),
);

const counted: Traffic = {
  name: 'answers of /tokenize',
  share: 1,
  *cases(count, seed) {
    const body = JSON.stringify({ model: 'counting', messages: [{ role: 'user', content: mark }] });
    for (const confused of typeCases(confusedDocuments(sampleTokenCounts), count, seed)) {
      const answer = { status: 200, type: 'application/json', body: confused } as const;
      yield { path: '/v1/messages/count_tokens', model: 'counting', body, answer, converted: true, confused };
    }
  },
};

const embedded: Traffic = {
  name: 'plain answers to embeddings',
  share: 1,
  *cases(count, seed) {
    const body = JSON.stringify({ model: 'native', input: [mark] });
    for (const confused of typeCases(confusedDocuments(sampleAnswers.embeddings), count, seed)) {
      const answer = { status: 200, type: 'application/json', body: confused } as const;
      yield { path: '/v1/embeddings', model: 'native', body, answer, converted: false, confused };
    }
  },
};

const pictured: Traffic = {
  name: 'streams to image generations',
  share: 1,
  *cases(count, seed) {
    const body = JSON.stringify({ model: 'native', prompt: mark, stream: true });
    for (const confused of typeCases(confusedDocuments(sampleEndpointEvents), count, seed)) {
      const events = eventText('image_generation.partial_image', confused) + eventText(undefined, confused);
      const answer = { status: 200, type: 'text/event-stream', body: events } as const;
      yield { path: '/v1/images/generations', model: 'native', body, answer, converted: false, confused };
    }
  },
};

/** Everything that comes to a gateway by its sockets: callers' bodies, and nodes' answers in every format. */
export const typeTraffic: readonly Traffic[] = [
  ...plain,
  ...refused,
  ...streamed,
  ...callers,
  counted,
  embedded,
  pictured,
];
