import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors/errors.ts';
import { type FormBounds, type FormPart, FormScanError, scanForm } from './form-scan.ts';
import type { Inspection } from './inspect.ts';

/** What the inspection of a multipart body needs to know. */
export interface FormOptions extends FormBounds {
  readonly boundary: string;
}

/** The longest name of a model has 512 characters. */
const longestModel = 512 * 4;

/**
 * Reads `model` of a multipart body. It must be the one part whose name a server may take for `model`, a plain text field;
 * with `restricted` (a key with an allowlist) there is no `models` or `fallbacks`. Whether the answer is a stream, the node
 * says. Throws GatewayError.
 */
export function inspectForm(
  body: Buffer,
  { boundary, ...bounds }: FormOptions,
  restricted: boolean,
): Inspection {
  const models: FormPart[] = [];
  let forbidden: string | undefined;
  scanParts(body, boundary, bounds, (part) => {
    // Form readers make `model[]` and `model.x` a list or an object of the name `model`.
    const [base = ''] = part.name.toLowerCase().split(/[.[]/, 1);
    if (base === 'model') models.push(part);
    else if (base === 'models' || base === 'fallbacks') forbidden = part.name;
    else if (base === '_charset_')
      throw invalid("it has a part '_charset_'; leave it out, and send text in UTF-8");
  });
  const [model] = models;
  if (model === undefined) {
    const message =
      'Missing required parameter: model. Send it as a field of the multipart body that names one model.';
    throw new GatewayError('missing_parameter', message, { param: 'model' });
  }
  if (models.length > 1 || model.name !== 'model') {
    const message = `The request must have exactly one part "model", spelled in lower case; it has ${
      models.length > 1 ? `${models.length} of them` : `"${model.name}"`
    }.`;
    throw new GatewayError('invalid_value', message, { param: 'model' });
  }
  if (forbidden !== undefined && restricted) {
    const message = `This API key is limited to certain models, so a request may not contain "${forbidden}".`;
    throw new GatewayError('unsupported_parameter', message, { param: forbidden });
  }
  return {
    model: modelText(body, model),
    stream: false,
    modelStart: model.valueStart,
    modelEnd: model.valueEnd,
    longStrings: [],
    oddNumbers: false,
    promptCacheKey: undefined,
    form: { boundary, length: model.length },
  };
}

function scanParts(
  body: Buffer,
  boundary: string,
  bounds: FormBounds,
  onPart: (part: FormPart) => void,
): void {
  try {
    scanForm(body, boundary, bounds, onPart);
  } catch (error) {
    if (!(error instanceof FormScanError)) throw error;
    throw invalid(`${error.message} (byte ${error.offset})`);
  }
}

function modelText(body: Buffer, { isFile, type, valueStart, valueEnd }: FormPart): string {
  if (isFile) throw badModel('is a file; send it as a field without a filename');
  // Python's email package takes a parameter `name` of the content-type for the name of a file.
  if (type !== undefined && !/^text\/plain(?:\s*;\s*charset="?[\w-]+"?)?$/i.test(type))
    throw badModel('has a content-type other than text/plain in UTF-8; leave the content-type out');
  const bytes = body.subarray(valueStart, valueEnd);
  if (bytes.length === 0) throw badModel('is empty; name a model');
  if (bytes.length > longestModel) throw badModel('is longer than 512 characters; name a model');
  if (!isUtf8(bytes)) throw badModel('is not valid UTF-8; name a model in UTF-8');
  const text = bytes.toString('utf8');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/^\s|\s$|[\0-\x1f\x7f]/.test(text))
    throw badModel('has white space at an end, or a control character; send the name alone');
  return text;
}

function badModel(what: string): GatewayError {
  return new GatewayError('invalid_value', `The part "model" of the multipart body ${what}.`, {
    param: 'model',
  });
}

function invalid(what: string): GatewayError {
  return new GatewayError('invalid_multipart', `The multipart body is not valid: ${what}.`);
}
