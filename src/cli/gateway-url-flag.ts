import { InvalidArgumentError } from 'commander';
import { usageError } from './command-error.ts';
import { gatewayURL } from './gateway-url.ts';

/** Option parser for `--gateway-url`: the base URL that callers use, without a slash at the end. */
export function gatewayURLFlag(text: string): string {
  const url = URL.parse(text);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  const hasUser = isHttp ? `${url.username}${url.password}` !== '' : text.includes('@');
  // Commander prints the value that an InvalidArgumentError refuses, and these parts may be credentials.
  if (hasUser || /[?#]/.test(text)) {
    throw usageError(
      '--gateway-url takes no user, password, query or fragment: give an address such as http://127.0.0.1:8080/v1.',
    );
  }
  if (!isHttp) throw new InvalidArgumentError('Give an address such as http://127.0.0.1:8080/v1.');
  return gatewayURL(text);
}
