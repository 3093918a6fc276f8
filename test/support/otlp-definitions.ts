import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import protobuf from 'protobufjs';
import { cachedFolder } from './cached-folder.ts';

const release = '1.45.2';
const files = [
  'common/v1/common',
  'resource/v1/resource',
  'trace/v1/trace',
  'metrics/v1/metrics',
  'collector/trace/v1/trace_service',
  'collector/metrics/v1/metrics_service',
];
const run = promisify(execFile);

/** `type` as `otlpMessages` writes it: `repeated Span`, `bytes`; enums are `int32`. */
export type Definitions = Readonly<
  Record<string, Readonly<Record<string, readonly [type: string, id: number]>>>
>;

/**
 * The messages of OTLP as its project defines them: read from its package for Python, which holds their descriptors and
 * is kept in the user's cache folder. @throws where pip or the package index is missing.
 */
export async function officialOtlpDefinitions(): Promise<Definitions> {
  const folder = await cachedFolder(`otlp/opentelemetry-proto-${release}`, 240_000, download);
  const all: Record<string, Record<string, readonly [string, number]>> = {};
  for (const file of files) {
    const text = await readFile(join(folder, 'opentelemetry', 'proto', `${file}_pb2.py`), 'latin1');
    for (const message of messagesOf(fileType.decode(serializedIn(text)))) read(message, all);
  }
  return all;
}

async function download(folder: string): Promise<void> {
  const wheel = join(folder, 'wheel');
  await run(
    'python3',
    ['-m', 'pip', 'download', '--no-deps', '--quiet', '-d', wheel, `opentelemetry-proto==${release}`],
    { timeout: 120_000 },
  );
  const archive = join(wheel, `opentelemetry_proto-${release}-py3-none-any.whl`);
  await run('python3', ['-m', 'zipfile', '-e', archive, folder], { timeout: 60_000 });
  await rm(wheel, { recursive: true });
}

/** The bytes of the literal that the generated module registers. */
function serializedIn(text: string): Uint8Array {
  const literal = /AddSerializedFile\(b'((?:[^'\\]|\\.)*)'\)/s.exec(text)?.[1];
  if (literal === undefined) throw new Error('the module registers no descriptor');
  const escapes: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13 };
  const bytes: number[] = [];
  for (const [, hex, octal, letter, plain] of literal.matchAll(/\\x(..)|\\([0-7]{1,3})|\\(.)|([^\\])/gs)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0));
    else bytes.push((plain ?? '').charCodeAt(0));
  }
  return Uint8Array.from(bytes);
}

interface Field {
  readonly name: string;
  readonly number: number;
  readonly label: number;
  readonly type: number;
  readonly type_name: string;
}

interface Message {
  readonly name: string;
  readonly field: readonly Field[];
  readonly nested_type: readonly Message[];
}

// What is needed of descriptor.proto.
const fileType = protobuf.Root.fromJSON({
  nested: {
    File: { fields: { message_type: { rule: 'repeated', type: 'Message', id: 4 } } },
    Message: {
      fields: {
        name: { type: 'string', id: 1 },
        field: { rule: 'repeated', type: 'Field', id: 2 },
        nested_type: { rule: 'repeated', type: 'Message', id: 3 },
      },
    },
    Field: {
      fields: {
        name: { type: 'string', id: 1 },
        number: { type: 'int32', id: 3 },
        label: { type: 'int32', id: 4 },
        type: { type: 'int32', id: 5 },
        type_name: { type: 'string', id: 6 },
      },
    },
  },
}).lookupType('File');

const typeNames: Readonly<Record<number, string>> = {
  1: 'double',
  3: 'int64',
  5: 'int32',
  6: 'fixed64',
  7: 'fixed32',
  8: 'bool',
  9: 'string',
  12: 'bytes',
  13: 'uint32',
  14: 'int32',
  16: 'sfixed64',
  18: 'sint64',
};
const repeated = 3;

function messagesOf(file: protobuf.Message): readonly Message[] {
  return (file as unknown as { message_type: readonly Message[] }).message_type;
}

function read(message: Message, into: Record<string, Record<string, readonly [string, number]>>): void {
  const fields: Record<string, readonly [string, number]> = {};
  for (const { name, number, label, type, type_name: typeName } of message.field) {
    const plain = typeNames[type] ?? typeName.split('.').at(-1) ?? '';
    fields[name] = [label === repeated ? `repeated ${plain}` : plain, number];
  }
  into[message.name] = fields;
  for (const nested of message.nested_type) read(nested, into);
}
