import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import {
  checkServerIdentity,
  createSecureContext,
  type SecureContext,
  connect as tlsConnect,
} from 'node:tls';
import { type AddressRules, forbiddenReason } from './address.ts';
import { connectError } from './connect-error.ts';
import type { UpstreamConnection } from './connection.ts';
import { UpstreamError } from './error.ts';

/** Looks up every address of a name, as `dns.lookup` with `all` does. Tests pass their own. */
export type Lookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Opens one connection. `done` is called once, always after this returns. The socket may be destroyed before. */
export type Connect = (done: (error: UpstreamError | null, socket?: Socket) => void) => Socket | undefined;

type NetLookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: LookupAddress[] | string, family?: number) => void,
) => void;

/**
 * Returns the function that opens connections to one model server. It looks the name up once, so that the name cannot change
 * between check and use, connects only to addresses that the rules allow (happy eyeballs), and always verifies TLS.
 */
export function connector(connection: UpstreamConnection, rules: AddressRules, lookup: Lookup): Connect {
  const url = new URL(connection.baseURL);
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const timeoutMs = connection.timeouts.connectSeconds * 1000;
  const network = {
    host,
    port: Number(url.port || (secure ? 443 : 80)),
    lookup: checkedLookup(lookup, rules) as never,
    autoSelectFamily: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  };
  const openTLS = secure ? tlsOpener(connection.tls, network) : undefined;

  return (done) => {
    const literal = isIP(host) === 0 ? undefined : forbiddenReason(host, rules);
    if (literal !== undefined) {
      const error = new UpstreamError('forbidden_address', false, literal);
      queueMicrotask(() => done(error));
      return undefined;
    }
    let socket: Socket;
    try {
      socket = openTLS?.() ?? netConnect({ ...network, highWaterMark: 65_536 } as typeof network);
    } catch {
      // OpenSSL throws here if it cannot read the CA bundle.
      const error = new UpstreamError('tls', false, 'the CA bundle cannot be used');
      queueMicrotask(() => done(error));
      return undefined;
    }
    let connected = false;
    let settled = false;
    const settle = (error: UpstreamError | null) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (error === null) return done(null, socket);
      socket.destroy();
      done(error);
    };
    const timer = setTimeout(() => settle(new UpstreamError('connect_timeout', false)), timeoutMs);
    socket.once('connect', () => {
      connected = true;
      if (!secure) settle(null);
    });
    socket.once('secureConnect', () => settle(null));
    socket.on('error', (cause) => settle(connectError(cause, connected)));
    socket.once('close', () => settle(connectError(undefined, connected)));
    return socket;
  };
}

function checkedLookup(lookup: Lookup, rules: AddressRules): NetLookup {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const allowed = addresses.filter(({ address }) => forbiddenReason(address, rules) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const reason = addresses[0] && forbiddenReason(addresses[0].address, rules);
        const code = addresses.length === 0 ? 'dns' : 'forbidden_address';
        return callback(new UpstreamError(code, false, reason), []);
      }
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function tlsOpener(tls: UpstreamConnection['tls'], network: { host: string }): () => Socket {
  let context: SecureContext | undefined;
  let session: Buffer | undefined;
  const expected = tls?.serverName ?? network.host;
  return () => {
    context ??= createSecureContext(tls?.caBundle === undefined ? {} : { ca: tls.caBundle });
    const socket = tlsConnect({
      ...network,
      secureContext: context,
      // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot switch verification off.
      rejectUnauthorized: true,
      // An IP address is never sent as SNI (RFC 6066), but the certificate is still checked against it.
      servername: isIP(expected) === 0 ? expected : '',
      checkServerIdentity: (_name, certificate) => checkServerIdentity(expected, certificate),
      ALPNProtocols: ['http/1.1'],
      ...(session === undefined ? {} : { session }),
    });
    // Resuming a session skips the check of the certificate's name, but Node.js emits a session only after that check.
    socket.on('session', (ticket) => {
      session = ticket;
    });
    return socket;
  };
}
