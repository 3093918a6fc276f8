import { limits } from './limits.ts';

// Texts with these prefixes count as secrets only if they have a digit or a masking star, because `key_findings` and
// `hf-internal-testing` are words.
const secrets =
  /\b(?:sk|pk|rk|gsk|xai|AIza|nvapi|mgk|mgm)[-_][\w*.-]{6,}|\b(?:key|hf)[-_](?=[\w.-]{0,64}[\d*])[\w*.-]{6,}|\bBearer\s+\S+|\bAIza[\w-]{10,}/gi;
const addresses =
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]}]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}\b/gi;
// Control characters would break logs and terminals.
const controls = /\p{Cc}/gu;

/**
 * A node's error text as a caller may see it: one bounded text without addresses and credentials, which nodes do put
 * there (`Incorrect API key provided: sk-…`, `http://10.0.0.7:8000 refused`).
 */
export function safeMessage(text: string): string {
  const cut = text.length > limits.errorMessage ? `${text.slice(0, limits.errorMessage)}…` : text;
  return cut.replace(addresses, '[address]').replace(secrets, '[redacted]').replace(controls, ' ').trim();
}
