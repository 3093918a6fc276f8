import fc from 'fast-check';
import { readChatBody } from '../../src/convert/chat-body.ts';
import { ConversionError } from '../../src/convert/conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from '../../src/convert/converted-formats.ts';
import { resolveDialect } from '../../src/convert/dialect.ts';
import { UpstreamFault } from '../../src/convert/upstream-fault.ts';
import { inspect } from '../../src/gateway/admission/inspect.ts';
import { GatewayError } from '../../src/gateway/errors/errors.ts';
import {
  checkKeyText,
  generateKeyText,
  hashKeyText,
  keyHint,
  keyTextKind,
} from '../../src/resources/key-text.ts';
import { parseResource, parseStored } from '../../src/resources/parse.ts';
import {
  generateSealingIdentity,
  openSealedKey,
  sealApiKey,
  sealingRecipient,
} from '../../src/resources/sealed-key.ts';
import { NotYamlError, parseManifest, parseManifests } from '../../src/store/folder/parse-manifest.ts';
import { needsParserToSplit, splitDocuments } from '../../src/store/folder/split-documents.ts';
import { editedDocument } from './edited-document.ts';
import { type ParserProperty, quickly } from './properties.ts';
import { sampleManifests } from './sample-manifests.ts';
import { sampleRequests } from './sample-requests.ts';
import { almost, mangled } from './weird-json.ts';

const all = Object.values(sampleRequests).flat();

const inspected: ParserProperty = {
  name: 'request bodies: refused as what they are, or agreed with JSON.parse',
  share: 0.4,
  property: fc.property(mangled(almost(all)), fc.boolean(), (bytes, restricted) =>
    quickly(() => {
      try {
        const { model } = inspect(bytes, { restricted, maxDepth: 512 });
        const read = JSON.parse(bytes.toString()) as { model?: unknown };
        if (read.model !== model)
          throw new Error(`the model is ${model}, and JSON.parse reads ${read.model}`);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.entry.status >= 500) throw error;
      }
    }),
  ) as fc.IRawProperty<unknown>,
};

const formats: readonly (readonly [ConvertedFormat, string])[] = [
  ['messages', '/v1/messages'],
  ['responses', '/v1/responses'],
  ['completions', '/v1/completions'],
  ['count_tokens', '/v1/messages/count_tokens'],
];

const converted = formats.map(
  ([format, path]): ParserProperty => ({
    name: `${format}: converted or refused, and nothing else is touched`,
    share: 0.2,
    property: fc.property(almost(sampleRequests[path] ?? []), fc.boolean(), (text, strict) => {
      const body = parsed(text);
      if (body === undefined) return;
      const before = JSON.stringify(body);
      quickly(() => {
        try {
          const { chats, dropped } = convertedFormats[format].convert(body, { ...options, strict });
          for (const chat of chats) JSON.parse(JSON.stringify(chat));
          if (dropped.some((path) => !/^[\x20-\x7e]*$/.test(path)))
            throw new Error(`unprintable: ${dropped}`);
        } catch (error) {
          if (!(error instanceof ConversionError)) throw error;
        }
      });
      if (JSON.stringify(body) !== before) throw new Error('the body was changed');
      if (Object.keys(Object.prototype).length > 0) throw new Error('Object.prototype was changed');
    }) as fc.IRawProperty<unknown>,
  }),
);

const options = {
  model: 'm',
  dialect: resolveDialect({ host: 'x.example', model: 'm' }),
  newId: (prefix: string) => `${prefix}1`,
  now: () => 0,
};

const chatAnswers = [
  {
    ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm' },
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hi',
          reasoning_content: 'r',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          annotations: [],
        },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
      prompt_tokens_details: { cached_tokens: 1 },
    },
  },
  { error: { message: 'no', type: 'server_error', code: 'x', param: null } },
];

const chatChunks = [
  {
    id: 'x',
    model: 'm',
    choices: [
      { index: 0, delta: { role: 'assistant', content: 'Hi', reasoning_content: 'r' }, finish_reason: null },
    ],
  },
  {
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a"' } }],
        },
      },
    ],
  },
  {
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 1, function: { arguments: ':1}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
  },
  { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
  { error: { message: 'no' } },
];

/** Events of a node, right ones and others, as bytes in pieces. */
export const anyStream: fc.Arbitrary<readonly Buffer[]> = fc
  .record({
    events: fc.array(
      fc.oneof(
        {
          weight: 4,
          arbitrary: fc.constantFrom(...chatChunks).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
        },
        { weight: 4, arbitrary: almost(chatChunks).map((text) => `data: ${text}\n\n`) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'data: [DONE]\n\n',
            ': x\n\n',
            'event: error\ndata: {}\n\n',
            'data:\n\n',
            'id: 1\nretry: x\n',
            'data\n\n',
            '\uFEFF',
            'data: a\r\rdata: b\r\n\r\n',
          ),
        },
      ),
      { maxLength: 12 },
    ),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    whole: fc.boolean(),
    damage: fc.option(fc.uint8Array({ minLength: 1, maxLength: 3 }), { freq: 4 }),
  })
  .map(({ events, cut, whole, damage }) => {
    const bytes = Buffer.from(events.join(''));
    const place = Math.floor(cut * bytes.length);
    if (damage !== null) bytes.set(damage.subarray(0, bytes.length - place), place);
    return whole ? [bytes] : [bytes.subarray(0, place), bytes.subarray(place)];
  });

/** A whole answer of a node, nearly right. */
export const anyAnswer: fc.Arbitrary<Buffer> = fc.oneof(
  almost(chatAnswers).map((text) => Buffer.from(text)),
  mangled(almost(chatAnswers)),
);

const streamed = formats.slice(0, 3).map(
  ([format, path]): ParserProperty => ({
    name: `${format}: any stream of a node becomes whole events, or its fault`,
    share: 0.15,
    property: fc.property(anyStream, (pieces) =>
      quickly(() => {
        const { stream: begin } = convertedFormats[format].convert(sampleRequests[path]?.at(-1), options);
        const stream = begin(0, undefined);
        const out: string[] = [];
        try {
          for (const piece of pieces) out.push(...stream.push(piece));
          out.push(...stream.end());
        } catch (error) {
          if (!(error instanceof UpstreamFault)) throw error;
          out.push(...stream.fail(error));
        }
        checkEvents(out.join(''));
      }),
    ) as fc.IRawProperty<unknown>,
  }),
);

const replied = formats.slice(0, 3).map(
  ([format, path]): ParserProperty => ({
    name: `${format}: any answer of a node becomes a reply, or its fault`,
    share: 0.1,
    property: fc.property(anyAnswer, (bytes) =>
      quickly(() => {
        const { reply } = convertedFormats[format].convert(sampleRequests[path]?.at(-1), options);
        try {
          JSON.parse(reply([readChatBody(bytes)]).json);
        } catch (error) {
          if (!(error instanceof UpstreamFault)) throw error;
        }
      }),
    ) as fc.IRawProperty<unknown>,
  }),
);

/** Whole events alone, each with data that is JSON or `[DONE]`. */
function checkEvents(text: string): void {
  if (text !== '' && !text.endsWith('\n\n')) throw new Error(`an event is not whole: ${text.slice(-200)}`);
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith(':') || line.startsWith('event: ') || line === 'data: [DONE]')
      continue;
    if (!line.startsWith('data: ')) throw new Error(`not a line of an event: ${line}`);
    JSON.parse(line.slice(6));
  }
}

const manifestText = fc.oneof(
  fc.constantFrom(...sampleManifests),
  mangled(fc.constantFrom(...sampleManifests)).map(String),
  mangled(mangled(fc.constantFrom(...sampleManifests)).map(String)).map(String),
  fc
    .array(
      fc.constantFrom(
        ...sampleManifests.join('\n').split('\n'),
        '---',
        '...',
        '%YAML 1.2',
        '- &a [*a, *a]',
        '? x',
        '<<: *a',
        '!!js x',
        '\t x: y',
      ),
      { maxLength: 30 },
    )
    .map((lines) => lines.join('\n')),
);

const manifests: ParserProperty = {
  name: 'manifests: read, or refused with the place',
  share: 0.2,
  property: fc.property(manifestText, (text) =>
    quickly(() => {
      try {
        if (needsParserToSplit(text)) parseManifests(text);
        else for (const document of splitDocuments(text)) parseManifest(document);
      } catch (error) {
        if (!(error instanceof NotYamlError)) throw error;
      }
    }),
  ) as fc.IRawProperty<unknown>,
};

const objects: ParserProperty = {
  name: 'objects of any kind: read, or refused with the field',
  share: 0.4,
  property: fc.property(almost(sampleManifests.map((text) => JSON.parse(text) as object)), (text) => {
    const object = parsed(text);
    if (object === undefined) return;
    quickly(() => {
      parseResource(object);
      parseStored(object);
    });
  }) as fc.IRawProperty<unknown>,
};

const seed = (size: number) => new Uint8Array(size).fill(7);
const ourKey = generateKeyText('api', seed);

const keyTexts: ParserProperty = {
  name: 'key texts: one changed character is told; hints tell nothing',
  share: 1,
  property: fc.property(
    fc.oneof(
      mangled(fc.constant(ourKey)).map((bytes) => bytes.toString('latin1')),
      fc.string({ unit: 'binary', maxLength: 600 }),
      fc.string({ maxLength: 600 }),
    ),
    (text) =>
      quickly(() => {
        const verdict = checkKeyText(text);
        if (verdict === 'ours' && text !== ourKey && text.length !== ourKey.length)
          throw new Error('ours, and is not');
        keyTextKind(text);
        if (!/^sha256:[0-9a-f]{64}$/.test(hashKeyText(text))) throw new Error('no hash');
        if (text.length >= 24 && keyHint(text).length > 11)
          throw new Error(`the hint tells much: ${keyHint(text)}`);
      }),
  ) as fc.IRawProperty<unknown>,
};

const identity = await generateSealingIdentity();
const place = { namespace: 'default', name: 'n', baseURL: 'https://x.example/v1' };
const sealed = await sealApiKey({
  ...place,
  apiKey: 'sk-sealed',
  recipient: await sealingRecipient(identity),
} as Parameters<typeof sealApiKey>[0]);

const sealedTexts: ParserProperty = {
  name: 'sealed texts: only the untouched one opens, and only at its place',
  share: 0.02,
  property: fc.asyncProperty(
    fc.oneof(
      mangled(fc.constant(sealed)).map((bytes) => bytes.toString('latin1')),
      fc.constant(sealed),
    ),
    fc.oneof(
      fc.constant(place),
      fc.record({ namespace: fc.string(), name: fc.string(), baseURL: fc.webUrl() }),
    ),
    async (text, where) => {
      const opened = await openSealedKey({ ...where, text, identities: [identity] });
      if (!('apiKey' in opened)) return;
      if (opened.apiKey !== 'sk-sealed' || where.name !== place.name) throw new Error('opened elsewhere');
    },
  ) as fc.IRawProperty<unknown>,
};

const edits: ParserProperty = {
  name: 'edits of a document: it says what it should, and other lines stay byte for byte',
  share: 0.5,
  property: editedDocument as fc.IRawProperty<unknown>,
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Everything that reads what others wrote, in this process. */
export const parserProperties: readonly ParserProperty[] = [
  ...[inspected, ...converted, ...streamed, ...replied],
  ...[manifests, objects, keyTexts, sealedTexts, edits],
];
