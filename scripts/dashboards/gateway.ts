import type { Dashboard } from './panel.ts';

const of = 'route=~"$route",instance=~"$instance"';
const rate = (metric: string, labels = of): string =>
  `rate(modelgateway_${metric}{${labels}}[$__rate_interval])`;
const quantile = (share: number, metric: string): string =>
  `histogram_quantile(${share}, sum by (le, route) (${rate(`${metric}_bucket`)}))`;
const quantiles = (metric: string) => [
  { expr: quantile(0.5, metric), legend: 'half, {{route}}' },
  { expr: quantile(0.95, metric), legend: '95 %, {{route}}' },
];

/** What callers get. */
export const gatewayDashboard: Dashboard = {
  uid: 'model-gateway-traffic',
  title: 'Model Gateway / Traffic',
  variables: [
    { name: 'instance', query: 'label_values(modelgateway_requests_in_flight, instance)' },
    { name: 'route', query: 'label_values(modelgateway_attempts_total, route)' },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Requests per second',
          about: 'All that were answered.',
          kind: 'stat',
          unit: 'reqps',
          width: 4,
          queries: [{ expr: `sum(${rate('requests_total')})`, legend: '' }],
        },
        {
          title: 'Failed',
          about: 'Share of answers with 5xx, of those that were answered.',
          kind: 'stat',
          unit: 'percentunit',
          width: 4,
          queries: [
            {
              expr: `(sum(${rate('requests_total', `${of},code=~"5.."`)}) or vector(0)) / sum(${rate('requests_total')})`,
              legend: '',
            },
          ],
        },
        {
          title: 'Open streams',
          about: 'Streams whose content is flowing.',
          kind: 'stat',
          unit: 'short',
          width: 4,
          queries: [{ expr: `sum(modelgateway_open_streams{${of}})`, legend: '' }],
        },
        {
          title: 'In flight',
          about: 'Requests that are being answered, streams included.',
          kind: 'stat',
          unit: 'short',
          width: 4,
          queries: [{ expr: 'sum(modelgateway_requests_in_flight{instance=~"$instance"})', legend: '' }],
        },
        {
          title: 'Output tokens per second',
          about: 'Of answers whose node told.',
          kind: 'stat',
          unit: 'short',
          width: 4,
          queries: [
            { expr: `sum(${rate('tokens_total', 'type="output",instance=~"$instance"')})`, legend: '' },
          ],
        },
        {
          title: 'Open circuits',
          about: 'Over all gateways; the nodes’ dashboard names them.',
          kind: 'stat',
          unit: 'short',
          width: 4,
          queries: [{ expr: 'sum(modelgateway_circuits_open{instance=~"$instance"})', legend: '' }],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by route',
          about: '',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          stacked: true,
          queries: [{ expr: `sum by (route) (${rate('requests_total')})`, legend: '{{route}}' }],
        },
        {
          title: 'Answers by status',
          about: '499: the caller left before the answer was complete.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          stacked: true,
          queries: [{ expr: `sum by (code) (${rate('requests_total')})`, legend: '{{code}}' }],
        },
        {
          title: 'Requests by model',
          about: 'The model as the node names it; `other` where no node was tried.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          queries: [{ expr: `topk(15, sum by (model) (${rate('requests_total')}))`, legend: '{{model}}' }],
        },
        {
          title: 'Errors of the gateway’s own, and refused keys',
          about: 'Names are those of the runbook.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          queries: [
            {
              expr: `sum by (error) (${rate('errors_total', 'instance=~"$instance"')}) > 0`,
              legend: '{{error}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Time',
      panels: [
        {
          title: 'Time to first content of streams',
          about: 'From the request’s head to the first content, failovers included.',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: quantiles('time_to_first_content_seconds'),
        },
        {
          title: 'Gap between pieces of streams',
          about: 'What people feel as stuttering.',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: quantiles('stream_gap_seconds'),
        },
        {
          title: 'Duration',
          about: 'To the last byte; of streams mostly the length of the answer.',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: quantiles('request_duration_seconds'),
        },
      ],
    },
    {
      title: 'Failover and conversion',
      panels: [
        {
          title: 'Failovers by reason',
          about: 'Attempts that failed and after which another node was tried.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 8,
          stacked: true,
          queries: [
            {
              expr: `sum by (reason) (${rate('failovers_total', 'instance=~"$instance"')})`,
              legend: '{{reason}}',
            },
          ],
        },
        {
          title: 'Conversions',
          about: 'Attempts on nodes in another format than the caller’s.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 8,
          queries: [
            {
              expr: `sum by (conversion) (${rate('conversions_total', 'instance=~"$instance"')})`,
              legend: '{{conversion}}',
            },
          ],
        },
        {
          title: 'Fields that conversions dropped',
          about: 'A node that speaks the format natively would take them.',
          kind: 'timeseries',
          unit: 'reqps',
          width: 8,
          queries: [
            {
              expr: `sum by (conversion, field) (${rate('conversion_dropped_total', 'instance=~"$instance"')})`,
              legend: '{{conversion}} {{field}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Tokens and bytes',
      panels: [
        {
          title: 'Tokens',
          about: 'cached_input is a part of input, reasoning of output.',
          kind: 'timeseries',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: `sum by (type) (${rate('tokens_total', 'instance=~"$instance"')})`,
              legend: '{{type}}',
            },
          ],
        },
        {
          title: 'Output tokens by model',
          about: '',
          kind: 'timeseries',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: `topk(15, sum by (model) (${rate('tokens_total', 'type="output",instance=~"$instance"')}))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          title: 'Bytes',
          about: 'Of bodies.',
          kind: 'timeseries',
          unit: 'Bps',
          width: 8,
          queries: [
            { expr: `sum(${rate('received_bytes_total')})`, legend: 'received' },
            { expr: `sum(${rate('sent_bytes_total')})`, legend: 'sent' },
          ],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Processor time',
          about: 'Cores. A gateway uses one for its requests.',
          kind: 'timeseries',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: 'rate(process_cpu_seconds_total{instance=~"$instance"}[$__rate_interval])',
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Event loop lag, 99 %',
          about: 'Above 0.1 s streams stutter: add replicas.',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: [
            { expr: 'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"}', legend: '{{instance}}' },
          ],
        },
        {
          title: 'Memory',
          about: 'Resident.',
          kind: 'timeseries',
          unit: 'bytes',
          width: 8,
          queries: [{ expr: 'process_resident_memory_bytes{instance=~"$instance"}', legend: '{{instance}}' }],
        },
      ],
    },
  ],
};
