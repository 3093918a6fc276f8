import type { Dashboard } from './panel.ts';

const of = 'node=~"$node"';
const rate = (metric: string, labels = of): string =>
  `rate(modelgateway_${metric}{${labels}}[$__rate_interval])`;

/** What nodes do. */
export const nodesDashboard: Dashboard = {
  uid: 'model-gateway-nodes',
  title: 'Model Gateway / Nodes',
  variables: [{ name: 'node', query: 'label_values(modelgateway_node_phase, node)' }],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Nodes by phase',
          about: 'Those that are enabled.',
          kind: 'stat',
          unit: 'short',
          width: 12,
          queries: [
            {
              expr: `count by (phase) (max by (node, phase) (modelgateway_node_phase{${of},enabled="true"}))`,
              legend: '{{phase}}',
            },
          ],
        },
        {
          title: 'Not ready, by reason',
          about: 'All resources; the runbook says what each reason means.',
          kind: 'stat',
          unit: 'short',
          width: 12,
          queries: [
            {
              expr: 'max by (kind, reason) (modelgateway_resources{ready!="True"}) > 0',
              legend: '{{kind}} {{reason}}',
            },
          ],
        },
        {
          title: 'Nodes',
          about: 'Phase, enabled models.',
          kind: 'table',
          unit: 'short',
          width: 12,
          queries: [
            { expr: `max by (node, phase, enabled) (modelgateway_node_phase{${of}})`, legend: '' },
            { expr: `max by (node) (modelgateway_node_models{${of}})`, legend: '' },
          ],
        },
        {
          title: 'Circuits that are not closed',
          about: 'Value: gateways that have it so. No model: the whole node.',
          kind: 'table',
          unit: 'short',
          width: 12,
          queries: [
            { expr: `count by (node, model, state) (modelgateway_circuit_state{${of}})`, legend: '' },
          ],
        },
      ],
    },
    {
      title: 'Attempts',
      panels: [
        {
          title: 'Requests by node',
          about: 'By the node that served them last.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          stacked: true,
          queries: [{ expr: `sum by (node) (${rate('requests_total')})`, legend: '{{node}}' }],
        },
        {
          title: 'Failed attempts',
          about: 'By node and how. Failover hides them from callers where it can.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          queries: [
            {
              expr: `sum by (node, outcome) (${rate('upstream_attempts_total', `${of},outcome!~"ok|cancelled"`)})`,
              legend: '{{node}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Time to first content',
          about: 'Mean of streams, by node.',
          kind: 'timeseries',
          unit: 's',
          width: 12,
          queries: [
            {
              expr: `sum by (node) (${rate('node_time_to_first_content_seconds_sum')}) / sum by (node) (${rate('node_time_to_first_content_seconds_count')})`,
              legend: '{{node}}',
            },
          ],
        },
        {
          title: 'Duration',
          about: 'Mean of requests, by node.',
          kind: 'timeseries',
          unit: 's',
          width: 12,
          queries: [
            {
              expr: `sum by (node) (${rate('node_request_duration_seconds_sum')}) / sum by (node) (${rate('node_request_duration_seconds_count')})`,
              legend: '{{node}}',
            },
          ],
        },
        {
          title: 'Output tokens',
          about: 'By node.',
          kind: 'timeseries',
          unit: 'short',
          width: 12,
          queries: [
            {
              expr: `sum by (node) (${rate('tokens_total', `${of},type="output"`)})`,
              legend: '{{node}}',
            },
          ],
        },
        {
          title: 'Circuits that opened',
          about: 'How often, by node.',
          kind: 'timeseries',
          unit: 'short',
          width: 12,
          queries: [
            {
              expr: `sum by (node) (increase(modelgateway_circuit_openings_total{${of}}[$__rate_interval]))`,
              legend: '{{node}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Syncs',
      panels: [
        {
          title: 'Syncs and health checks',
          about: 'Of the controller that leads.',
          kind: 'timeseries',
          unit: 'ops',
          width: 12,
          queries: [
            {
              expr: 'sum by (kind, result) (rate(modelgateway_node_contacts_total[$__rate_interval]))',
              legend: '{{kind}} {{result}}',
            },
          ],
        },
        {
          title: 'Since the last sync',
          about: 'By node.',
          kind: 'timeseries',
          unit: 's',
          width: 12,
          queries: [
            {
              expr: `time() - max by (node) (modelgateway_node_last_sync_timestamp_seconds{${of}})`,
              legend: '{{node}}',
            },
          ],
        },
      ],
    },
  ],
};
