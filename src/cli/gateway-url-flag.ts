import { InvalidArgumentError } from 'commander';
import { gatewayURL } from './gateway-url.ts';

/** Option parser for `--gateway-url`: the base URL that callers use, without a slash at the end. */
export function gatewayURLFlag(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw new InvalidArgumentError('Give an address such as http://127.0.0.1:8080/v1.');
  }
  return gatewayURL(text);
}
