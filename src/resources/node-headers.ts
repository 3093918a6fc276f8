import { z } from 'zod';
import { mapOf, patterned, resourceName, secretEntryKey } from './fields.ts';
import { type Rule, withRules } from './rules.ts';

// The gateway alone sets the headers that decide how a request is framed, where it goes and who sends it. These include Expect,
// because the gateway does not wait for 100 Continue; Accept-Encoding, because answers are passed on unchanged; and the hop
// count, because a node that resets it could make a request loop.
const forbidden = [
  'accept-encoding',
  'authorization',
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-model-gateway-hops',
];

const nameAllowed: Rule<string> = {
  cel: `!(self.lowerAscii() in [${forbidden.map((name) => `'${name}'`).join(', ')}]) && !self.lowerAscii().startsWith('content-')`,
  message:
    "must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway's own",
  remedy: 'remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  holds: (self) => !forbidden.includes(self.toLowerCase()) && !self.toLowerCase().startsWith('content-'),
};

const headerSchema = withRules(
  z.object({
    name: withRules(
      patterned(
        128,
        /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
        'must be the name of an HTTP header',
        'use letters, digits and "-"',
      ),
      [nameAllowed],
    ).meta({ description: 'The name of the header.' }),
    value: patterned(
      4_096,
      /^[!-~]([ -~\t]*[!-~])?$/,
      'must be visible ASCII without blanks at its ends',
      'remove line breaks, outer blanks and letters beyond ASCII',
    )
      .meta({ description: 'The value, for one that is no secret. Exactly one of value and secretRef.' })
      .optional(),
    secretRef: z
      .object({
        name: resourceName().meta({ description: 'The Secret, in the same namespace.' }),
        key: secretEntryKey().meta({ description: 'The entry of the Secret.' }),
      })
      .meta({ description: 'The value, from a Secret. Exactly one of value and secretRef.' })
      .optional(),
  }),
  [
    {
      cel: 'has(self.value) != has(self.secretRef)',
      message: 'must have exactly one of value and secretRef',
      remedy: 'keep one of the two',
      holds: (self) => (self.value === undefined) !== (self.secretRef === undefined),
    },
  ],
);

/** An extra header of the same name would be sent in addition to the credential, and a server may use either. */
export const credentialOnce: Rule<{
  readonly authentication: 'Bearer' | 'XAPIKey' | 'APIKey';
  readonly headers?: readonly { readonly name: string }[] | undefined;
}> = {
  cel: "self.authentication == 'Bearer' || !has(self.headers) || !self.headers.exists(h, h.name.lowerAscii() == (self.authentication == 'XAPIKey' ? 'x-api-key' : 'api-key'))",
  message: 'must not repeat the header that authentication gives the credential',
  remedy: 'put the credential into apiKeySecretRef or encryptedAPIKey, and remove the entry',
  field: 'headers',
  holds: ({ authentication, headers = [] }) => {
    if (authentication === 'Bearer') return true;
    const own = authentication === 'XAPIKey' ? 'x-api-key' : 'api-key';
    return !headers.some(({ name }) => name.toLowerCase() === own);
  },
};

/** Extra headers of a node. */
export const headersSchema = withRules(mapOf(headerSchema, 'name', 32), [
  {
    cel: 'self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))',
    message: 'must name each header once, whatever its case',
    remedy: 'remove one of the two entries',
    holds: (self) => new Set(self.map(({ name }) => name.toLowerCase())).size === self.length,
  },
]).meta({ description: 'Extra headers that are sent to the node with every request.' });
