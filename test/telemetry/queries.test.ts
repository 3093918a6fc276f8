import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { callerOf } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

interface Query {
  readonly where: string;
  readonly expr: string;
}

const files = new URL('../../charts/model-gateway/files/', import.meta.url);
const rulesFile = fileURLToPath(new URL('alerts.yaml', files));

const dashboardQueries: Query[] = readdirSync(new URL('dashboards/', files)).flatMap((name) => {
  const { panels } = JSON.parse(readFileSync(new URL(`dashboards/${name}`, files), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `${name}: ${title}`, expr })),
  );
});
const variableQueries: Query[] = readdirSync(new URL('dashboards/', files)).flatMap((name) => {
  const { templating } = JSON.parse(readFileSync(new URL(`dashboards/${name}`, files), 'utf8')) as {
    templating: { list: { name: string; type: string; query: { query: string } }[] };
  };
  return templating.list
    .filter(({ type }) => type === 'query')
    .map(({ name: variable, query }) => {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query.query) ?? [];
      return { where: `${name}: $${variable}`, expr: `count by (${label}) (${metric}{${label}!=""})` };
    });
});
const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const alertQueries: Query[] = groups.flatMap(({ rules }) =>
  rules.map(({ alert, expr }) => ({ where: alert, expr })),
);

/** As Grafana would fill it in, with everything chosen. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '30s').replaceAll(/"\$\w+"/g, '".*"');

const key = keyWithHash();
let stage: Stage;
let standalone: Standalone;
let upstream: ScriptedUpstream;
let broken: ScriptedUpstream;
let prometheus: Prometheus;

beforeAll(async () => {
  upstream = await startUpstream({ models: ['m'] });
  broken = await startUpstream({ models: ['m'] });
  broken.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'good', { baseURL: upstream.url, priority: 10 }),
        manifest('UpstreamNode', 'bad', { baseURL: broken.url, priority: 90 }),
        manifest('APIKey', 'k', { hash: key.hash }),
        manifest('UpstreamNode', 'poor', { baseURL: upstream.url, apiKeySecretRef: { name: 'nowhere' } }),
      ),
    },
    // Nobody listens there.
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_METRIC_EXPORT_INTERVAL: '1000' },
  });
  stage = await startStage({ namespaces: ['telemetry'] });
  await stage.addNode('n', { upstream: { models: ['m'] } });
  prometheus = await startPrometheus(
    {
      standalone: [standalone.admin],
      gateway: stage.gateways.map(({ admin }) => admin),
      controller: stage.controllers.map(({ admin }) => admin),
    },
    rulesFile,
  );
  const until = Date.now() + 12_000;
  // Series that appear while this runs have their rates from the second scrape on.
  do {
    await traffic();
    await delay(300);
  } while (Date.now() < until);
}, 600_000);
afterAll(async () => {
  await prometheus?.[Symbol.asyncDispose]();
  await standalone?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
  await Promise.all([upstream?.stop(), broken?.stop()]);
});

/** A bit of everything that panels show. */
async function traffic(): Promise<void> {
  const caller = standalone.caller(key.text);
  const messages = [{ role: 'user', content: 'x' }];
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  await caller.chat('m');
  await caller.send('POST', '/chat/completions', {
    model: 'm',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  await caller.send('POST', '/messages', { model: 'm', messages, max_tokens: 2048, thinking });
  await caller.send('POST', '/responses', { model: 'm', input: 'x', stream: true });
  await caller.chat('no-such-model');
  await callerOf(standalone.baseURL, 'wrong-wrong-wrong-wrong-wrong').chat('m');
  await stage.caller('wrong-wrong-wrong-wrong-wrong').chat('m');
}

/** Panels that show nothing while nothing is wrong with watches and certificates. */
const mayBeEmpty = /Watches that ended/;

describe('dashboards', () => {
  test.each(variableQueries)('$where has values', async ({ expr }) => {
    expect(await prometheus.query(expr)).not.toEqual([]);
  });

  test.each(dashboardQueries)('$where', async ({ where, expr }) => {
    const series = await prometheus.query(filled(expr));
    if (!mayBeEmpty.test(where)) expect([expr, series]).not.toEqual([expr, []]);
    for (const { value } of series) if (!Number.isNaN(value)) expect(value).toBeGreaterThanOrEqual(0);
  });
});

describe('alerts', () => {
  test.each(alertQueries)('$where is a query of series that there are', async ({ expr }) => {
    await prometheus.query(expr);
    // What is in the brackets of these words are labels.
    const metrics = expr.replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right) ?\([^)]*\)/g, '');
    for (const [, metric = '', matchers = ''] of metrics.matchAll(
      /\b([a-z]+_[a-z0-9_]+)\b(?:\{([^}]*)\})?(?!\s*\()/g,
    )) {
      if (/^(?:absent|humanize|histogram)_/.test(metric)) continue;
      // Without the matchers: what is wrong just now is not the question, but whether names are right.
      const labels = [...matchers.matchAll(/(\w+)\s*[!=]/g)].map(([, label = '']) => `${label}!=""`);
      const known = await prometheus.query(
        `count({__name__="${metric}"${labels.map((l) => `,${l}`).join('')}})`,
      );
      if (!absentHere.test(metric)) expect([metric, labels, known.length]).toEqual([metric, labels, 1]);
    }
  });

  test('those of what is broken here are on their way', async () => {
    const pending = async () =>
      new Set((await prometheus.query('ALERTS')).map(({ metric }) => metric['alertname']));
    await eventually(
      'they are pending',
      async () => {
        const found = await pending();
        return [
          'ModelGatewayCircuitOpen',
          'ModelGatewayResourcesNotReady',
          'ModelGatewayTelemetryLost',
        ].every((alert) => found.has(alert));
      },
      60_000,
      500,
    );
    const found = await pending();
    for (const alert of [
      'ModelGatewayDown',
      'ModelGatewayControllerDown',
      'ModelGatewayStale',
      'ModelGatewayNoLeader',
    ])
      expect(found).not.toContain(alert);
  });
});

/** Without TLS, a key that expires and a Secret that cannot be read; alerts.test.ts has their series. */
const absentHere = /^modelgateway_(?:tls_|key_expiration_timestamp_seconds$|store_unreadable_secrets$)/;
