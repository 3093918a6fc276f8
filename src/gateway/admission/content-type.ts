import { GatewayError } from '../errors/errors.ts';

/** Throws GatewayError 415 unless a body of this content-type is JSON in UTF-8. Without the header it counts as JSON. */
export function checkJsonType(type: string | undefined): undefined {
  if (isJson(type)) return;
  throw new GatewayError(
    'unsupported_media_type',
    'The content-type must be application/json in UTF-8; send "content-type: application/json".',
  );
}

/**
 * The boundary of a multipart body, or undefined if the body is JSON. The content-type must have exactly one boundary, because
 * a node may use the other one of two, and no other parameter but the charset UTF-8. Throws GatewayError.
 */
export function boundaryOf(type: string | undefined): string | undefined {
  if (type === undefined || isJson(type)) return undefined;
  const [media = '', ...parameters] = type.split(';');
  if (media.trim().toLowerCase() !== 'multipart/form-data') {
    throw new GatewayError(
      'unsupported_media_type',
      'The content-type must be application/json in UTF-8, or multipart/form-data with a boundary.',
    );
  }
  let boundary: string | undefined;
  for (const parameter of parameters) {
    if (parameter.trim() === '') continue;
    const [, name = '', quoted, bare] = /^\s*([\w-]+)=(?:"([^"\\]*)"|([^\s"\\]*))\s*$/.exec(parameter) ?? [];
    const value = quoted ?? bare ?? '';
    switch (name.toLowerCase()) {
      case 'boundary':
        if (boundary !== undefined) throw wrongType('it names two boundaries; send one');
        if (!/^[\w'()+,./:=?-]{1,70}$/.test(value)) throw wrongType(badBoundary);
        boundary = value;
        break;
      case 'charset':
        if (!/^utf-?8$/i.test(value)) throw wrongType('its charset is not UTF-8; leave the charset out');
        break;
      default:
        throw wrongType('it has a parameter that is not boundary; leave it out');
    }
  }
  if (boundary === undefined)
    throw wrongType('it names no boundary; let the HTTP library that writes the body set this header');
  return boundary;
}

const badBoundary =
  "its boundary is not 1 to 70 letters, digits and '()+_,-./:=?; let the HTTP library choose one";

/** The content-type that a node is sent with a multipart body: written by the gateway, so that it can be read in one way only. */
export function formType(boundary: string): string {
  return `multipart/form-data; boundary=${/^[\w.+-]+$/.test(boundary) ? boundary : `"${boundary}"`}`;
}

function isJson(type: string | undefined): boolean {
  if (type === undefined || type === 'application/json') return true;
  return /^application\/(?:[\w.!#$&^-]+\+)?json(?:\s*;\s*charset="?utf-?8"?)?[\s;]*$/i.test(type);
}

function wrongType(what: string): GatewayError {
  return new GatewayError(
    'invalid_multipart',
    `The content-type of the multipart body is not valid: ${what}.`,
  );
}
