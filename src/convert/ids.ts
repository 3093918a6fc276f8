import { randomBytes } from 'node:crypto';

/** Makes an identifier that nobody else has, with a vendor's prefix such as `msg_`. */
export type NewId = (prefix: string) => string;

/** Identifiers of 24 random characters behind the prefix. */
export const randomId: NewId = (prefix) => `${prefix}${randomBytes(18).toString('hex').slice(0, 24)}`;
