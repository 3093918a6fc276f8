import { text } from './fields.ts';
import { withRules } from './rules.ts';

const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const ipv4 = `${octet}(\\.${octet}){3}`;
const ipv6 = '\\[[0-9A-Fa-f:.]+\\]';
// The last label must hold something other than digits: otherwise URL parsers read the name as a (broken) IPv4 address.
const name = '([A-Za-z0-9_-]+\\.)*[0-9_-]*[A-Za-z_][A-Za-z0-9_-]*\\.?';
const port = '(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?';
const pattern = `^https?://(${ipv4}|${ipv6}|${name})${port}(/[!-~]*)?$`;
const shape = new RegExp(pattern);

const userInfo = '^[A-Za-z]+://[^/?#]*@';
const hasUserInfo = new RegExp(userInfo);

/** `spec.baseURL`: the address of a node. Always valid for `new URL()`. */
export function baseURL() {
  return withRules(text(2_048), [
    {
      cel: `!self.matches(r'${userInfo}')`,
      message: 'must not hold user info',
      remedy: 'move the credential to apiKeySecretRef or encryptedAPIKey',
      holds: (self) => !hasUserInfo.test(self),
    },
    {
      cel: "!self.contains('?') && !self.contains('#')",
      message: 'must not have a query or fragment',
      remedy: 'end it with the version segment, as in https://api.example.com/v1',
      holds: (self) => !self.includes('?') && !self.includes('#'),
    },
    {
      cel: `self.matches(r'${userInfo}') || self.contains('?') || self.contains('#') || self.matches(r'${pattern}')`,
      message: 'must be an http or https URL such as https://api.example.com/v1',
      remedy: 'write scheme, host and version segment, in ASCII and without blanks',
      holds: (self) =>
        hasUserInfo.test(self) ||
        self.includes('?') ||
        self.includes('#') ||
        (shape.test(self) && URL.canParse(self)),
    },
  ]).meta({
    description:
      'Base address of the API including its version segment; /models, /chat/completions and so on are appended. http or https, without user info, query and fragment.',
  });
}
