import type { AddressInfo } from 'node:net';
import { createServer as createPlain, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { upstreamAuthority, upstreamCertificate } from '../support/upstream-certificates.ts';
import { failoverPromise, failsOver, shortTimeouts, toldAsError } from './expected.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

const trusted = { timeouts: shortTimeouts, tls: { caBundle: upstreamAuthority.own } };

/** A server of bare connections on loopback that ends with the scene; answers its port. */
async function listen(scene: Scene, server: ReturnType<typeof createPlain>): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scene.onEnd(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const answer = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

export const tlsFaults: readonly Fault[] = [
  {
    id: 'tls-expired',
    group: 'network',
    section: 'Failover',
    promise: `an expired certificate is never trusted: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { upstream: { tls: upstreamCertificate('expired') }, spec: trusted });
    },
  },
  {
    id: 'tls-wrong-name',
    group: 'network',
    section: 'Failover',
    promise: `a certificate of another name is never trusted: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { upstream: { tls: upstreamCertificate('name-only') }, spec: trusted });
    },
  },
  {
    id: 'tls-unknown-authority',
    group: 'network',
    section: 'Failover',
    promise: 'a certificate of an unknown authority is never trusted, and the error says that it is TLS',
    form: 'short',
    run: (scene) =>
      toldAsError(
        scene,
        {
          upstream: { tls: upstreamCertificate('server') },
          spec: { ...trusted, tls: { caBundle: upstreamAuthority.other } },
        },
        502,
        /TLS|certificate/i,
      ),
  },
  {
    id: 'tls-plain-server',
    group: 'network',
    section: 'Failover',
    promise: `a server that speaks plain HTTP where TLS is declared: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      const server = createPlain((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      const port = await listen(scene, server);
      await failsOver(scene, { baseURL: `https://127.0.0.1:${port}/v1`, spec: trusted });
    },
  },
  {
    id: 'tls-handshake-hangs',
    group: 'network',
    section: 'Timeouts of a node',
    promise: `a handshake that nobody answers ends after the connect time: ${failoverPromise}`,
    async run(scene) {
      const port = await listen(
        scene,
        createPlain(() => {}),
      );
      const timeouts = { ...shortTimeouts, connectSeconds: 1 };
      await failsOver(scene, { baseURL: `https://127.0.0.1:${port}/v1`, spec: { ...trusted, timeouts } });
    },
  },
  {
    id: 'tls-renegotiated',
    group: 'network',
    section: 'Failover',
    promise:
      'a server that wants to renegotiate in the middle of an answer harms nobody: a whole answer, or a visible failure',
    form: 'short',
    async run(scene) {
      let renegotiated = 'never asked';
      const body = '{"choices":[{"message":{"content":"w0 w1 w2 "}}]}';
      const server = createServer(
        { ...upstreamCertificate('server'), maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] },
        (socket: TLSSocket) => {
          socket.on('error', () => {});
          socket.once('data', () => {
            const whole = answer(body);
            socket.write(whole.slice(0, 60));
            socket.renegotiate({}, (error) => {
              renegotiated = error === null ? 'renegotiated' : `refused: ${error.message}`;
              socket.end(whole.slice(60));
            });
          });
        },
      );
      const port = await listen(scene, server);
      const { chat } = await (await scene.shared()).declare([
        { baseURL: `https://127.0.0.1:${port}/v1`, spec: { ...trusted, timeouts: shortTimeouts } },
      ]);
      const { status, text, whole } = await chat();
      scene.must('a whole answer or a failure', whole ? status !== 200 || text === body : true);
      scene.must('not a third thing', status === 200 || status >= 500);
      scene.saw(`${renegotiated}; ${status}, ${whole ? 'whole' : 'cut'}`);
    },
  },
  {
    id: 'tls-renewed',
    group: 'network',
    section: 'Failover',
    promise: 'a certificate that was renewed serves at once, without a hand',
    form: 'short',
    async run(scene) {
      const body = '{"choices":[{"message":{"content":"w0 w1 w2 "}}]}';
      const server = createServer({ ...upstreamCertificate('expired') }, (socket: TLSSocket) => {
        socket.on('error', () => {});
        socket.on('data', () => void socket.end(answer(body)));
      });
      const port = await listen(scene, server);
      const { chat } = await (await scene.shared()).declare([
        { baseURL: `https://127.0.0.1:${port}/v1`, spec: trusted },
      ]);
      scene.same('with the expired one', (await chat()).status, 502);
      server.setSecureContext(upstreamCertificate('server'));
      await scene.recovers('it serves', async () => (await chat()).text === body);
      scene.saw('502 before, answers after');
    },
  },
];
